"""What a peer and its neighbours have told each other with their last beats.

A beat goes to all neighbours every `beat_ms`. Between two of them it goes to those who had none yet, and to all if
anything but a round has changed: rounds alone travel a link with each beat, or at once where somebody seeks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import isfinite
from typing import Any

from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.protocols.core_tree.messages import Beat, Choice, Reach
from siftcast.overlays.protocols.core_tree.options import CORES_MAX

ROUND_MAX = 2**62
_HEARD_MAX = 1_024
Links = tuple[tuple[int, int], ...]


class Beats:
    """The beats of one peer."""

    __slots__ = ("_said", "_told", "heard")

    def __init__(self) -> None:
        self.heard: dict[NodeId, Beat] = {}
        """The last beat of each neighbour, and for a moment of others who take this peer for one."""
        self._told: set[NodeId] = set()
        self._said: tuple[Any, ...] = ()

    def hear(self, sender: NodeId, beat: Beat) -> bool:
        """A beat has come; whether it counts, for it may be overtaken or nonsense."""
        before = self.heard.get(sender)
        is_news = len(self.heard) < _HEARD_MAX if before is None else before.number < beat.number
        if not is_news or not _is_sound(beat):
            return False
        self.heard[sender] = beat
        return True

    def forget(self, peer: NodeId) -> None:
        """A peer is no neighbour any more."""
        self.heard.pop(peer, None)
        self._told.discard(peer)

    def strangers(self, neighbours: Collection[NodeId]) -> list[NodeId]:
        """Who has sent beats and is no neighbour."""
        return [peer for peer in self.heard if peer not in neighbours]

    def repeat(self) -> None:
        """All are to be told with the next word."""
        self._said = ()

    def tell(
        self,
        neighbours: Collection[NodeId],
        beat: Beat,
        sought: Collection[NodeId],
        *,
        links: Callable[[NodeId], Links],
        next_number: Callable[[], int],
        says_all: bool,
    ) -> list[Effect]:
        """Sends a beat to whom it is news, or to all; `sought` are the targets whose rounds are news as well."""
        rounds = tuple(reach.round for reach in beat.reaches if reach.target in sought)
        said = beat.choice, beat.relay, _without_round(beat.leader), *map(_without_round, beat.reaches), rounds
        to = sorted(neighbours)
        if not says_all and said == self._said:
            to = [peer for peer in to if peer not in self._told]
        self._said = said
        self._told.update(to)
        groups: dict[Links, list[NodeId]] = {}
        for peer in to:
            groups.setdefault(links(peer), []).append(peer)
        number = next_number() if to else 0
        return [
            SendMessage(
                Beat(number, beat.leader, beat.choice, beat.relay, beat.reaches, held, beat.matched), tuple(peers)
            )
            for held, peers in groups.items()
        ]


def _without_round(reach: Reach) -> tuple[NodeId, float, NodeId]:
    return reach.target, reach.weight, reach.over


def _is_sound(beat: Beat) -> bool:
    """Whether its numbers can be what they stand for."""
    choice: Choice = beat.choice
    reaches = (beat.leader, *beat.reaches)
    numbers = (choice.delay_ms, choice.weight, *(reach.weight for reach in reaches))
    is_short = 0 < len(choice.cores) <= CORES_MAX and len(beat.reaches) <= CORES_MAX
    return (
        is_short
        and all(isfinite(each) and each >= 0 for each in numbers)
        and all(0 <= reach.round < ROUND_MAX for reach in reaches)
    )
