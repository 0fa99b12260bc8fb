"""The way of an event: up and down its publisher's cell, between the cores, and through the cells that want it.

Every peer handles an event once on each of the two trees, and knows ids for some seconds. While trees change, somebody
may have been nowhere when an event passed; so when a peer comes to a link, or what was wanted elsewhere comes to be
wanted over it (`Branch.missed`), the events of the last seconds that it wants and has not had from here are passed on
*late*. A late event is not for those who subscribed after it was published.

Where each two cores are joined by their own shortest ways, the core that an event comes to from its cell names the
other cores that want it, and every peer on the way sends it on to those that lie in the same direction. The names are
divided at each step, so each core gets it once, though the ways form no tree. What finds no way waits for one, as long
as events are passed on late; what was sent over a neighbour that has crashed is sent once more.

Order is not promised, and an event that a lossy link loses is lost.

Cost: an event, one `match_any` for each neighbour on the tree; the memory of the last seconds' events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from siftcast.model import Event
from siftcast.overlays.contract import Deliver, Effect, NodeId, SendMessage, Spent
from siftcast.overlays.protocols.core_tree.branch import ACROSS, Branch
from siftcast.overlays.protocols.core_tree.messages import CELL, CORES, CoreParcel, Passed
from siftcast.overlays.protocols.core_tree.trees import Trees
from siftcast.overlays.protocols.core_tree.weights import Sketch
from siftcast.overlays.recent import Kept, Recent

Had = set[tuple[int, NodeId, int]]
"""Who has an event from here or gave it to us: on which tree, and over which link."""
_AS_PARCEL = -1
_HOPS = 255
_SENT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class _Sending:
    """An event for a core, to which there is no way yet, or which was sent over a neighbour at a time."""

    core: NodeId
    kept: Kept[Had]
    late: bool
    hops: int
    sent_ms: float = 0.0


class Passing:
    """The events that come to one peer."""

    __slots__ = (
        "_all_pairs",
        "_linger_ms",
        "_node",
        "_now",
        "_recent",
        "_sent",
        "_since",
        "_towards",
        "_trees",
        "_waiting",
        "matched",
    )

    def __init__(
        self,
        node: NodeId,
        trees: Trees,
        towards: Callable[[NodeId], NodeId | None],
        linger_ms: float,
        *,
        all_pairs: bool,
    ) -> None:
        self._node = node
        self._trees = trees
        self._towards = towards
        self._linger_ms = linger_ms
        self._all_pairs = all_pairs
        self._recent = Recent[Had](linger_ms)
        self._since: dict[str, float] = {}
        self._waiting: list[_Sending] = []
        self._sent: dict[NodeId, deque[_Sending]] = {}
        self._now = 0.0
        self.matched = Sketch()

    def __len__(self) -> int:
        return len(self._recent)

    # -- what happens ----------------------------------------------------------------------------------------

    def begin(self, ids: Iterable[str], now: float) -> None:
        """The peer's own subscribers want something from now on."""
        for id in ids:
            self._since[id] = now

    def end(self, ids: Iterable[str]) -> None:
        """They do not any more."""
        for id in ids:
            self._since.pop(id, None)

    def publish(self, event: Event, now: float) -> list[Effect]:
        """A publisher of the peer has an event."""
        self._now = now
        self.matched.note(event.id)
        kept = self._recent.put(event, set(), 0.0, now)
        return self._take(self._trees.cell, kept, None, late=False)

    def receive(self, sender: NodeId, passed: Passed, delay_ms: float, now: float) -> list[Effect]:
        """An event came over a tree."""
        self._now = now
        branch = self._trees.cores if passed.network == CORES else self._trees.cell
        kept = self._recent.put(passed.event, set(), passed.elapsed_ms + delay_ms, now)
        kept.note.add(self._key(branch, sender))
        return self._take(branch, kept, sender, passed.late)

    def receive_parcel(self, parcel: CoreParcel, delay_ms: float, now: float) -> list[Effect]:
        """An event came on its way from core to core."""
        self._now = now
        elapsed_ms = parcel.elapsed_ms + delay_ms
        others = [core for core in parcel.cores if core != self._node]
        effects: list[Effect] = []
        if len(others) < len(parcel.cores):
            kept = self._recent.put(parcel.event, set(), elapsed_ms, now)
            kept.note.add(self._key(self._trees.cell, ACROSS))
            effects += self._take(self._trees.cell, kept, ACROSS, parcel.late)
        if others and parcel.hops > 0:
            passing: Kept[Had] = Kept(parcel.event, set(), now - elapsed_ms, now, set(), set())
            effects += self._send(passing, others, parcel.late, parcel.hops - 1)
        return effects

    def make_up(self, now: float) -> list[Effect]:
        """Passes on late what those want that have come, and what finds a way by now."""
        self._now = now
        effects: list[Effect] = []
        for branch in self._trees.branches:
            missed, branch.missed = branch.missed, {}
            present = [peer for peer in missed if peer in branch.router.neighbours]
            if present:
                for kept in tuple(self._recent.at(branch.network, now)):
                    effects += self._pass_late(branch, kept, present)
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if each.kept.born_ms > now - self._linger_ms:
                    effects += self._send(each.kept, [each.core], each.late, each.hops)
        return effects

    def lose(self, peer: NodeId) -> None:
        """A neighbour has crashed, perhaps with events on their way to cores, which are to be sent once more."""
        for each in self._sent.pop(peer, ()):
            self._waiting.append(replace(each, late=True))

    def expire(self, now: float) -> None:
        """Forgets what came too long ago."""
        self._recent.expire(now)
        for peer, sent in tuple(self._sent.items()):
            while sent and sent[0].sent_ms <= now - self._linger_ms:
                sent.popleft()
            if not sent:
                del self._sent[peer]

    # -- an event on one tree --------------------------------------------------------------------------------

    def _take(self, branch: Branch, kept: Kept[Had], sender: NodeId | None, late: bool) -> list[Effect]:
        """Hands an event on, unless it has been here."""
        if branch.network in kept.places:
            return []
        kept.places.add(branch.network)
        effects = self._deliver(branch, kept, late) if branch.network == CELL else []
        if branch.network == CORES and self._all_pairs:
            return effects + self._send_to_cores(kept, late)
        effects.append(Spent(len(branch.router.neighbours)))
        return effects + self._pass_on(branch, kept, branch.router.wanting(kept.event, sender), late)

    def _deliver(self, branch: Branch, kept: Kept[Had], late: bool) -> list[Effect]:
        found = [
            id
            for id in branch.router.local(kept.event)
            if id not in kept.handed and not (late and self._since[id] > kept.born_ms)
        ]
        if not found:
            return []
        kept.handed.update(found)
        self.matched.note(kept.event.id)
        return [Deliver(kept.event, found)]

    def _pass_on(self, branch: Branch, kept: Kept[Had], wanting: list[NodeId], late: bool) -> list[Effect]:
        effects: list[Effect] = []
        to: list[NodeId] = []
        for peer in wanting:
            key = self._key(branch, peer)
            if key in kept.note:
                continue
            kept.note.add(key)
            if peer == ACROSS:
                other = self._trees.cores if branch.network == CELL else self._trees.cell
                kept.note.add(self._key(other, ACROSS))
                effects += self._take(other, kept, ACROSS, late)
            else:
                to.append(peer)
        if to:
            passed = Passed(branch.network, kept.event, self._now - kept.born_ms, late)
            effects.append(SendMessage(passed, to))
        return effects

    def _pass_late(self, branch: Branch, kept: Kept[Had], present: list[NodeId]) -> list[Effect]:
        if branch.network == CORES and self._all_pairs:
            return self._send_to_cores(kept, late=True)
        wanting = [
            peer
            for peer in present
            if self._key(branch, peer) not in kept.note and branch.router.wants(peer, kept.event)
        ]
        return self._pass_on(branch, kept, wanting, late=True)

    def _key(self, branch: Branch, peer: NodeId) -> tuple[int, NodeId, int]:
        """A link, which is another one after it was ended and made again."""
        link = branch.links.get(peer)
        return branch.network, peer, 0 if link is None else link.number

    # -- an event from core to core --------------------------------------------------------------------------

    def _send_to_cores(self, kept: Kept[Had], late: bool) -> list[Effect]:
        """Names the other cores that want an event, and have not been sent it."""
        wanted = self._trees.cores.router.origins(kept.event)
        cores = [core for core in sorted(wanted) if (CORES, core, _AS_PARCEL) not in kept.note and core != self._node]
        kept.note.update((CORES, core, _AS_PARCEL) for core in cores)
        return [Spent(len(self._trees.cores.router.neighbours)), *self._send(kept, cores, late)]

    def _send(self, kept: Kept[Had], cores: Iterable[NodeId], late: bool, hops: int = _HOPS) -> list[Effect]:
        onward: dict[NodeId, list[NodeId]] = {}
        for core in cores:
            peer = self._towards(core)
            if peer is None:
                self._waiting.append(_Sending(core, kept, late, hops))
            else:
                onward.setdefault(peer, []).append(core)
                sent = self._sent.setdefault(peer, deque(maxlen=_SENT_MAX))
                sent.append(_Sending(core, kept, late, hops, self._now))
        elapsed_ms = self._now - kept.born_ms
        return [
            SendMessage(CoreParcel(tuple(to), kept.event, elapsed_ms, hops, late), (peer,))
            for peer, to in onward.items()
        ]
