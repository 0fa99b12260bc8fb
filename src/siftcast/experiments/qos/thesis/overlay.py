"""Algorithm 1: how subscribers connect to each other and to publishers, request by request.

    CONNECT ─▶ ACK | POTENTIALPARENT        DISCONNECT ─▶ POTENTIALPARENT        ACK ─▶ DETECTCYCLE …

Each request is answered at once; `sent` counts what was said. What the printed text gets wrong is chosen by `Rules`.
The handler of DETECTCYCLE passes it on to the children of the peer that received it: line 41 says `Fout(q)`, whom that
peer does not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from siftcast.experiments.qos.thesis.peers import Publisher, Subscriber, Want
from siftcast.experiments.qos.thesis.rules import Acceptance, Choice, CycleCheck, Order, Rules
from siftcast.experiments.qos.thesis.views import CoverIndex, prefixes
from siftcast.space.dz.cubes import Cube, covers, is_plain, meet, volume

_SCANNED_MAX = 24
Delay = Callable[[int, int], float]
"""From one peer to another; publishers are -1, -2, …"""


def one_hop(_sender: int, _receiver: int) -> float:
    """Delays are counted in hops."""
    return 1.0


class Overlay:
    """All peers, and what they say to each other."""

    def __init__(
        self,
        adverts: Sequence[Cube],
        degree: int,
        rules: Rules,
        rng: np.random.Generator,
        *,
        delay: Delay = one_hop,
    ) -> None:
        self.rules = rules
        self.degree = degree
        self.delay = delay
        self.round = 0
        self.peers: dict[int, Subscriber] = {}
        self.publishers = [Publisher(number, advert) for number, advert in enumerate(adverts)]
        self.sent: Counter[str] = Counter()
        self._rng = rng
        self._index = CoverIndex(rng)
        self._relevant: dict[Cube, tuple[int, ...]] = {}

    # -- who is there ----------------------------------------------------------------------------------------

    def join(self, peer: Subscriber) -> None:
        """A subscriber comes, with what it wants exactly."""
        peer.joined = self.round
        self.peers[peer.id] = peer
        for cube in peer.exact:
            peer.wants[cube] = Want(self.round)
            self._index.add(peer.id, cube)
        peer.measure()

    def leave(self, id: int) -> None:
        """A subscriber is gone; whoever was linked with it notices."""
        peer = self.peers.pop(id)
        for cube in peer.wants:
            self._index.discard(id, cube)
            self._release(peer, cube, said=False)
        for child in tuple(peer.children):
            self._dismiss(peer, self.peers[child])

    def relevant(self, cube: Cube) -> tuple[int, ...]:
        """The publishers of which some events may lie in an expression."""
        found = self._relevant.get(cube)
        if found is None:
            found = tuple(each.id for each in self.publishers if meet(each.advert, cube) is not None)
            self._relevant[cube] = found
        return found

    @property
    def chance(self) -> float:
        """With which a peer is in the view of another."""
        others = max(1, len(self.peers) - 1)
        return min(1.0, self.rules.view_size / others) if self.rules.view_size else self.rules.view

    def replace(self, peer: Subscriber, cubes: Iterable[Cube]) -> None:
        """A peer wants other expressions from now on; what is no longer covered is let go, children included.

        What is a part of what it wanted before keeps its supply.
        """
        wanted = dict.fromkeys(cubes)
        gone = [cube for cube in peer.wants if cube not in wanted]
        for cube in [cube for cube in wanted if cube not in peer.wants]:
            peer.wants[cube] = Want(self.round)
            self._index.add(peer.id, cube)
            whole = next((each for each in gone if covers(each, cube)), None)
            if whole is not None:
                self._inherit(peer, whole, cube)
        for cube in gone:
            self._release(peer, cube)
            del peer.wants[cube]
            peer.delays.pop(cube, None)
            self._index.discard(peer.id, cube)
        peer.measure()
        for child in tuple(peer.children):
            for cube in tuple(peer.children.get(child, ())):
                want = self.peers[child].wants[cube]
                want.through = self.covering(peer, cube)
                if want.through is None:
                    self.sent["DISCONNECT"] += 1
                    self._cut(peer, self.peers[child], cube)

    def _inherit(self, peer: Subscriber, whole: Cube, part: Cube) -> None:
        old, new = peer.wants[whole], peer.wants[part]
        if old.parent is not None:
            self.peers[old.parent].children[peer.id].add(part)
            new.parent, new.through = old.parent, old.through
        for number in old.direct:
            if number in self.relevant(part):
                self.publishers[number].children[peer.id].add(part)
                new.direct.add(number)

    @staticmethod
    def covering(peer: Subscriber, cube: Cube) -> Cube | None:
        """The expression of a peer that covers another, if there is one."""
        wants = peer.wants
        if cube in wants:
            return cube
        if len(wants) <= _SCANNED_MAX or not is_plain(cube[1]):
            return next((wide for wide in wants if covers(wide, cube)), None)
        return next((wide for wide in prefixes(cube) if wide in wants), None) or next(
            (wide for wide in wants if not is_plain(wide[1]) and covers(wide, cube)), None
        )

    # -- CONNECT ---------------------------------------------------------------------------------------------

    def connect(self, peer: Subscriber, parent: Subscriber, cube: Cube) -> bool:
        """A subscriber asks another; whether it is a child now."""
        self.sent["CONNECT"] += 1
        peer.connects += 1
        through = self.covering(parent, cube)
        if through is None:
            return False
        if not self.accepts(parent, peer):
            self._hint(peer, cube, self._best_hint(parent, peer, cube, upwards=True))
            return False
        children = parent.children.setdefault(peer.id, set())
        children.add(cube)
        if len(parent.children) > self.degree:
            out = self.peers[self._surplus(parent.children)]
            gone = tuple(parent.children[out.id])
            if out.id == peer.id:
                children.discard(cube)  # it was not supplied yet
            self._dismiss(parent, out)
            for each in gone:
                self._hint(out, each, self._best_hint(parent, out, each, upwards=False))
            if out.id == peer.id:
                return False
        self._acknowledge(peer, parent, cube, through)
        return peer.wants[cube].parent == parent.id

    def accepts(self, parent: Subscriber, child: Subscriber) -> bool:
        """Line 17, or what section 2.7 puts in its place."""
        if child.bound >= parent.bound:
            return True
        comes = parent.experienced + self.delay(parent.id, child.id)
        if self.rules.acceptance is Acceptance.EXPERIENCED:
            return comes <= child.bound
        if self.rules.acceptance is Acceptance.EXPERIENCED_STRICTLY:
            return comes < child.bound
        return False

    def connect_to_publisher(self, peer: Subscriber, number: int, cube: Cube) -> bool:
        """A subscriber asks a publisher, whose bound nobody can violate."""
        self.sent["CONNECT"] += 1
        peer.connects += 1
        publisher = self.publishers[number]
        publisher.children.setdefault(peer.id, set()).add(cube)
        if len(publisher.children) > self.degree:
            out = self._surplus(publisher.children)
            gone = publisher.children.pop(out)
            for each in gone - {cube} if out == peer.id else gone:
                self.peers[out].wants[each].direct.discard(number)
            self.sent["DISCONNECT"] += 1
            if out == peer.id:
                return False
        self.sent["ACK"] += 1
        peer.wants[cube].direct.add(number)
        peer.wants[cube].since = self.round
        return True

    def _surplus(self, children: dict[int, set[Cube]]) -> int:
        """`peersToDisconnect`: the most selective child, and of equal ones the one that is less in a hurry."""
        sign = -1.0 if self.rules.evicts_tighter else 1.0

        def key(child: int) -> tuple[float, float, int]:
            peer = self.peers[child]
            wanted = peer.volume
            if self.rules.order is Order.ASKED:
                wanted = float(sum(volume(fixed) for _, fixed in children[child]))
            return -wanted, sign * peer.bound, child

        return max(children, key=key)

    # -- ACK and DETECTCYCLE -----------------------------------------------------------------------------------

    def _acknowledge(self, peer: Subscriber, parent: Subscriber, cube: Cube, through: Cube) -> None:
        self.sent["ACK"] += 1
        want = peer.wants[cube]
        if want.parent is not None and want.parent != parent.id:
            self._cut(self.peers[want.parent], peer, cube)
            self.sent["DISCONNECT"] += 1
        for number in tuple(want.direct):
            self.leave_publisher(peer, number, cube)
        want.parent, want.through, want.since, want.lacking = parent.id, through, self.round, 0
        if self.rules.cycles is not CycleCheck.NONE and self._finds_cycle(peer, parent, cube, through):
            self.sent["DISCONNECT"] += 1
            self._cut(parent, peer, cube)

    def _finds_cycle(self, peer: Subscriber, parent: Subscriber, cube: Cube, through: Cube) -> bool:
        """Lines 34 to 42: whether a search through equal children comes back to the peer."""
        if cube != through:
            return False
        by_bound = self.rules.cycles is not CycleCheck.REPAIRED
        if by_bound and peer.bound != parent.bound:
            return False
        asked, seen = [peer.id], {peer.id}
        while asked:
            at = self.peers[asked.pop()]
            for child, cubes in at.children.items():
                if cube not in cubes or (by_bound and self.peers[child].bound != peer.bound):
                    continue
                self.sent["DETECTCYCLE"] += 1
                if child == peer.id:
                    return True
                if child not in seen and self.rules.cycles is not CycleCheck.LINE_41:
                    seen.add(child)
                    asked.append(child)
        return False

    # -- DISCONNECT --------------------------------------------------------------------------------------------

    def disconnect(self, peer: Subscriber, cube: Cube) -> None:
        """A subscriber leaves its parent."""
        want = peer.wants[cube]
        if want.parent is not None:
            self.sent["DISCONNECT"] += 1
            self._cut(self.peers[want.parent], peer, cube)

    def leave_publisher(self, peer: Subscriber, number: int, cube: Cube) -> None:
        """A subscriber leaves a publisher."""
        self.sent["DISCONNECT"] += 1
        peer.wants[cube].direct.discard(number)
        children = self.publishers[number].children
        if peer.id in children:
            children[peer.id].discard(cube)
            if not children[peer.id]:
                del children[peer.id]

    def _dismiss(self, parent: Subscriber, child: Subscriber) -> None:
        """A parent sends a child away."""
        self.sent["DISCONNECT"] += 1
        for cube in tuple(parent.children.get(child.id, ())):
            self._cut(parent, child, cube)
        parent.children.pop(child.id, None)

    def _cut(self, parent: Subscriber, child: Subscriber, cube: Cube) -> None:
        cubes = parent.children.get(child.id)
        if cubes is not None:
            cubes.discard(cube)
            if not cubes:
                del parent.children[child.id]
        want = child.wants.get(cube)
        if want is not None and want.parent == parent.id:
            want.parent, want.through, want.since = None, None, self.round

    def _release(self, peer: Subscriber, cube: Cube, *, said: bool = True) -> None:
        want = peer.wants[cube]
        if want.parent is not None:
            self.sent["DISCONNECT"] += said
            self._cut(self.peers[want.parent], peer, cube)
        for number in tuple(want.direct):
            self.leave_publisher(peer, number, cube)

    # -- finding parents -----------------------------------------------------------------------------------------

    def best_parent(self, peer: Subscriber, cube: Cube, *, strictly: bool = False) -> Subscriber | None:
        """`findBestParent`: of the view and of what it was hinted at."""
        found: list[int] = [id for id in peer.hints.pop(cube, ()) if id in self.peers]
        found = [id for id in found if self.covering(self.peers[id], cube) is not None]
        found += [id for id, _ in self._index.sample(cube, self.chance)]
        return self._best(peer, cube, found, strictly=strictly)

    def _best(self, peer: Subscriber, cube: Cube, found: Iterable[int], *, strictly: bool = False) -> Subscriber | None:
        below = {child for child, cubes in peer.children.items() if cube in cubes}
        supplying = {want.parent for want in peer.wants.values()}
        tighter_only = self.rules.choice is Choice.TIGHTER
        best: Subscriber | None = None
        best_key: tuple[float, ...] = ()
        for id in found:
            other = self.peers[id]
            if id == peer.id or id in below:
                continue
            if tighter_only and (other.bound >= peer.bound if strictly else not self.accepts(other, peer)):
                continue
            key: tuple[float, ...] = (-other.volume, float(id))
            if tighter_only:
                key = (id not in supplying, other.bound >= peer.bound, float(self._rng.random()))
            if best is None or key < best_key:
                best, best_key = other, key
        return best

    def _best_hint(self, parent: Subscriber, peer: Subscriber, cube: Cube, *, upwards: bool) -> int | None:
        """Whom a parent names: of its view, and of its own parents or of its other children."""
        found = [id for id, _ in self._index.sample(cube, self.chance)]
        if upwards:
            found += [want.parent for want in parent.wants.values() if want.parent is not None]
        else:
            found += list(parent.children)
        covering = [id for id in found if id != parent.id and self.covering(self.peers[id], cube) is not None]
        best = self._best(peer, cube, covering)
        if best is not None:
            return best.id
        if upwards:
            peer.publishers |= {
                number for want in parent.wants.values() for number in want.direct if number in self.relevant(cube)
            }
        return None

    def _hint(self, peer: Subscriber, cube: Cube, other: int | None) -> None:
        self.sent["POTENTIALPARENT"] += 1
        if other is not None and cube in peer.wants:
            peer.hints.setdefault(cube, []).append(other)
