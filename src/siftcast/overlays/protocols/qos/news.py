"""What a node has heard of others: who publishes what, and which peers might be parents.

Adverts are known to every node, and one that is new is passed on at once; the rest goes around in small samples, one
exchange with a random node each round, so that whatever was lost is made up for. A publisher counts its rounds
(`beat`), by which others see that it still lives.

Of other peers a node remembers `view` profiles, the youngest ones; it needs but one that leads somewhere, because
whoever has no room names others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from random import Random

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.messages import Advert, News, PeerId, Profile, Rank
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.space.dz import DzSet

_SAMPLE = 8


class Gazette:
    """What one node knows of the others."""

    __slots__ = ("_adverts", "_heard", "_lasts", "_node", "_offered", "_profiles", "_random", "_settings")

    def __init__(self, node: NodeId, settings: QosSettings, random: Random) -> None:
        self._node = node
        self._settings = settings
        self._random = random
        self._adverts: dict[NodeId, Advert] = {}
        self._heard: dict[NodeId, float] = {}
        self._offered: dict[NodeId, DzSet] = {}
        self._lasts: dict[NodeId, Rank | None] = {}
        self._profiles: dict[PeerId, tuple[Profile, float]] = {}

    @property
    def offered(self) -> Mapping[NodeId, DzSet]:
        """What each publisher publishes, as far as it is heard of."""
        return self._offered

    @property
    def lasts(self) -> Mapping[NodeId, Rank | None]:
        """Of each publisher, the child that would have to go if another came; None, if it has room."""
        return self._lasts

    def profile_of(self, peer: PeerId) -> Profile | None:
        """What a peer has said of itself, if it is known."""
        found = self._profiles.get(peer)
        return None if found is None else found[0]

    @property
    def profiles(self) -> Iterable[Profile]:
        """The peers it has heard of."""
        return [profile for profile, _ in self._profiles.values()]

    def youngest(self, count: int) -> list[NodeId]:
        """The nodes of the peers that it has heard of last."""
        return [peer[0] for peer in islice(reversed(self._profiles), count)]

    def add_advert(self, advert: Advert, now: float) -> bool:
        """Takes an advert in; whether it says something new."""
        before = self._adverts.get(advert.publisher)
        if before is not None and advert.beat <= before.beat:
            return False
        self._adverts[advert.publisher] = advert
        self._heard[advert.publisher] = now
        self._lasts[advert.publisher] = advert.last
        if advert.offered:
            self._offered[advert.publisher] = advert.offered
        else:
            self._offered.pop(advert.publisher, None)
        return before is None or before.offered != advert.offered

    def note_last(self, publisher: NodeId, last: Rank | None) -> None:
        """A publisher has said who is its last child."""
        if publisher in self._offered:
            self._lasts[publisher] = last

    def hear(self, node: NodeId, now: float) -> None:
        """A node has spoken: if it publishes, it still lives."""
        if node in self._offered:
            self._heard[node] = now

    def add_profile(self, profile: Profile, now: float) -> None:
        """Takes word of a peer in; the youngest are kept."""
        if profile.peer[0] == self._node:
            return
        self._profiles.pop(profile.peer, None)
        self._profiles[profile.peer] = profile, now
        if len(self._profiles) > self._settings.view:
            del self._profiles[next(iter(self._profiles))]

    def forget(self, peer: PeerId) -> None:
        """Takes a peer out."""
        self._profiles.pop(peer, None)

    def forget_node(self, node: NodeId) -> None:
        """Takes all peers of a node out."""
        for peer in [peer for peer in self._profiles if peer[0] == node]:
            del self._profiles[peer]

    def expire(self, now: float) -> bool:
        """Forgets what is old; whether a publisher was among it."""
        before = now - self._settings.forget_ms
        for peer, (_, heard) in tuple(self._profiles.items()):
            if heard < before:
                del self._profiles[peer]
        silent = [node for node, heard in self._heard.items() if heard < before and node != self._node]
        gone = False
        for node in silent:
            gone |= self._offered.pop(node, None) is not None
            # What it said last is kept for as long again: others may still pass it on.
            if self._heard[node] < before - self._settings.forget_ms:
                del self._adverts[node], self._heard[node], self._lasts[node]
        return gone

    def news(self, own: Iterable[Profile], rates: tuple[tuple[int, float], ...], *, asks: bool) -> News:
        """A sample of what it knows, and what it says of itself."""
        mine = self._adverts.get(self._node)
        others = [advert for node, advert in self._adverts.items() if node != self._node and node in self._offered]
        adverts = self._random.sample(others, min(_SAMPLE, len(others)))
        profiles = list(self.profiles)
        sample = self._random.sample(profiles, min(_SAMPLE, len(profiles)))
        return News((*adverts, mine) if mine is not None else tuple(adverts), (*own, *sample), asks, rates)

    def everything(self, own: Iterable[Profile], *, asks: bool) -> News:
        """All adverts: for a node that has just come."""
        return News(tuple(self._adverts.values()), tuple(own), asks)
