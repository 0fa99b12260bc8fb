"""How old events are when they arrive, without a common clock.

A message that passes an event on says how old the event was when it was sent (`Age`). The receiver adds the time that
the link takes when nothing waits, half of what the quickest of the last heartbeats took there and back (`echoes`), and
how much longer this one took than others (`waits`), and so knows when the event was published by its own monotonic
clock. How long an event stays at a node is then a difference of that clock, whatever kept it: a turn, a disk, or a
connection that had to be made first. Protocols know nothing of this.

    publisher's node            next node                               subscriber's node
    born = now                  born = now − age − link − wait          age = now − born
        └── age = now − born ──▶    └── age = now − born ──▶

Ages are told only while somebody has a bound on delay. Whoever has one says so to all (`AgesWanted`), for FOR_S; who
hears it passes it on, unless it was wanted for about as long anyway. So one of those who want it says it for all, each
time before it ends. Otherwise this costs a look at `is_wanted` for each message.

The age of an event is unknown, and then nothing is said of it, where it was published before anybody wanted to know,
passed a node of version 3 or a link that was not measured yet, or was read from a disk after a restart.

Cost, while wanted: about 2 µs for each message with an event, at either end, and 30 to 50 bytes in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from time import monotonic

from siftcast.overlays.bounds import Hop
from siftcast.overlays.contract import Message, NodeId
from siftcast.runtimes.live.node.waits import Waits
from siftcast.runtimes.live.wire.node_frames import Age, AgesWanted

KEPT_MAX = 16_384
"""So many events are remembered, the last to come."""
FOR_S = 20.0
_ROUND_S = 5.0
_MARGIN_S = 2.0
"""What would be wanted for less longer than it is already is not passed on."""
_ORIGINS_MAX = 1_024
_AGE_MS_MAX = 1e12
_SENT_MS_MAX = 1e15


class _Known:
    """What is known of an event here: when it was born and when it last came, by this node's clock."""

    __slots__ = ("born_s", "came_s", "slowest")

    def __init__(self, born_s: float, came_s: float, slowest: Hop | None) -> None:
        self.born_s = born_s
        self.came_s = came_s
        self.slowest = slowest


class Ages:
    """A node's part in knowing how old events are. `pass_on` sends a frame to all other nodes that can read it."""

    def __init__(
        self,
        node: NodeId,
        delay_ms: Callable[[NodeId], float | None],
        pass_on: Callable[[AgesWanted], None],
        random: Random,
    ) -> None:
        self.is_wanted = False
        """Whether messages are to say how old their events are."""
        self._node = node
        self._delay_ms = delay_ms
        self._pass_on = pass_on
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, _Known] = {}
        self._waits = Waits()
        self._until_s = 0.0
        self._wants = False
        self._timer: asyncio.TimerHandle | None = None
        self._origin = random.getrandbits(63)
        self._said = 0
        self._heard: dict[int, int] = {}

    # -- who wants to know ---------------------------------------------------------------------------

    def want(self, wants: bool) -> None:
        """Somebody here wants to know how old events are, or nobody does any more."""
        begins, self._wants = wants and not self._wants, wants
        if begins and self._until_s - monotonic() < FOR_S - _MARGIN_S:
            self._say()

    def heard(self, frame: AgesWanted) -> None:
        """Another node says that somebody wants to know."""
        if frame.number <= self._heard.get(frame.origin, 0) or frame.origin == self._origin:
            return
        self._heard[frame.origin] = frame.number
        if len(self._heard) > _ORIGINS_MAX:
            del self._heard[next(iter(self._heard))]
        if 0.0 < frame.for_ms <= FOR_S * 1_000 and self._extend(frame.for_ms / 1_000):
            self._pass_on(frame)

    def said_to_newcomer(self) -> AgesWanted | None:
        """What a node must hear that is connected now."""
        left_s = self._until_s - monotonic()
        if not self.is_wanted or left_s <= 0:
            return None
        self._said += 1
        return AgesWanted(self._origin, self._said, left_s * 1_000)

    def stop(self) -> None:
        """Says nothing any more."""
        self._wants = self.is_wanted = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._said += 1
        self._extend(FOR_S)
        self._pass_on(AgesWanted(self._origin, self._said, FOR_S * 1_000))

    def _extend(self, for_s: float) -> bool:
        """Ages are wanted for so long from now on; says whether that is news."""
        until_s = monotonic() + for_s
        if until_s < self._until_s + _MARGIN_S:
            return False
        self._until_s = until_s
        self.is_wanted = True
        if self._timer is None:
            self._timer = self._loop.call_later(_ROUND_S, self._go_round)
        return True

    def _go_round(self) -> None:
        """Wants it once more, if nobody else does; or ends it."""
        left_s = self._until_s - monotonic()
        if self._wants and left_s < _ROUND_S * (1.5 + self._random.random()):
            self._say()
        elif left_s <= 0:
            self.is_wanted = False
            self._known.clear()
            self._waits.clear()
            self._timer = None
            return
        self._timer = self._loop.call_later(_ROUND_S, self._go_round)

    def joined(self, node: NodeId) -> None:
        """A node is connected again."""
        self._waits.forget(node)

    # -- events --------------------------------------------------------------------------------------

    def begin(self, event: str) -> None:
        """An event is published here."""
        now = monotonic()
        self._keep(event, now, now, None)

    def came(self, sender: NodeId, message: Message, age: Age | None) -> None:
        """A message came in from another node."""
        if age is None or message.control or not 0.0 <= age.stayed_ms <= age.age_ms <= _AGE_MS_MAX:
            return
        if not abs(age.sent_ms) <= _SENT_MS_MAX:
            return
        link_ms, event = self._delay_ms(sender), message.event_id
        if link_ms is None or event is None:
            return
        now = monotonic()
        link_ms += self._waits.of(sender, age.sent_ms, now)
        taken_ms = age.stayed_ms + link_ms
        slowest = Hop(sender, self._node, taken_ms)
        if taken_ms < age.slow_ms <= age.age_ms:
            slowest = Hop(age.slow_from, age.slow_to, age.slow_ms)
        self._keep(event, now - (age.age_ms + link_ms) / 1_000, now, slowest)

    def _keep(self, event: str, born_s: float, now: float, slowest: Hop | None) -> None:
        known = self._known.get(event)
        if known is None:
            if len(self._known) >= KEPT_MAX:
                del self._known[next(iter(self._known))]
            self._known[event] = _Known(born_s, now, slowest)
            return
        # It has been here before, and was born when it was; but what is sent now is late because of its last way.
        known.came_s = now
        if slowest is not None and (known.slowest is None or slowest.taken_ms > known.slowest.taken_ms):
            known.slowest = slowest

    def stamp(self, message: Message) -> Age | None:
        """What a message that is sent now says of its event; None if it has none, or nobody knows."""
        event = None if message.control else message.event_id
        known = None if event is None else self._known.get(event)
        if known is None:
            return None
        now = monotonic()
        age_ms, stayed_ms = (now - known.born_s) * 1_000, (now - known.came_s) * 1_000
        if known.slowest is None:
            return Age(age_ms, stayed_ms, now * 1_000)
        source, target, taken_ms = known.slowest
        return Age(age_ms, stayed_ms, now * 1_000, taken_ms, source, target or 0)

    def of(self, event: str, last_ms: float) -> tuple[float, Hop] | None:
        """How old an event is when its subscriber has it, `last_ms` from now, and its slowest hop; None if unknown."""
        known = self._known.get(event)
        if known is None:
            return None
        now = monotonic()
        last = Hop(self._node, None, (now - known.came_s) * 1_000 + last_ms)
        slowest = last if known.slowest is None or last.taken_ms > known.slowest.taken_ms else known.slowest
        return (now - known.born_s) * 1_000 + last_ms, slowest

    def born_s(self, event: str) -> float | None:
        """When an event was published, by this node's monotonic clock; None if unknown."""
        known = self._known.get(event)
        return None if known is None else known.born_s
