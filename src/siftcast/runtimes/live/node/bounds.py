"""The bounds on delay of a node's subscriptions: what is measured goes to a judge, and what it finds to the client.

A subscription with a bound has a `BoundWatch`. Each of its events is noted with the age that it has when the client has
it (`ages`, and half of what a heartbeat to the client takes there and back). The client is told at once when the bound
comes to another state, and at most every REPORT_S how the share in time has changed (`BoundReported`).

An event of unknown age is delivered and not counted. Of a durable subscription only that counts which was published
while a client was attached, when it is offered for the first time: what waits for an absent client is late, and not
because of the network. Where a client does not read, its events are not counted either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from math import isfinite
from time import monotonic
from typing import Any

from siftcast.overlays.bounds import BoundWatch, Standing
from siftcast.overlays.contract import ExpectDelay, NodeId
from siftcast.runtimes.live.node.ages import Ages
from siftcast.runtimes.live.node.echoes import Echoes
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import BOUNDS, BoundReported

REPORT_S = 1.0
_MEASURED_ROUNDS = 5


class _Watched:
    """A bound, and the client that is told of it; nobody, while a durable subscription has none."""

    __slots__ = ("attached_s", "connection", "is_stale", "number", "watch")

    def __init__(self, watch: BoundWatch, connection: Connection, number: int, now_s: float) -> None:
        self.watch = watch
        self.connection: Connection | None = connection
        self.number = number
        self.attached_s = now_s
        self.is_stale = True
        """Whether something is not told yet."""


class Bounds:
    """All of them, by subscription. `name_of` says what people call a node."""

    def __init__(self, ages: Ages, name_of: Callable[[NodeId], str]) -> None:
        self.echoes = Echoes()
        """How far away the clients are."""
        self._ages = ages
        self._name_of = name_of
        self._loop = asyncio.get_running_loop()
        self._watched: dict[str, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rounds = 0

    # -- subscriptions -------------------------------------------------------------------------------

    def hold(self, id: str, bound_ms: float | None, connection: Connection, number: int) -> None:
        """A client has a subscription with this bound, or with none; a bound that is known is changed."""
        if bound_ms is None:
            self.forget(id)
            return
        now_s = monotonic()
        watched = self._watched.get(id)
        if watched is None:
            watched = self._watched[id] = _Watched(BoundWatch(bound_ms, now_s * 1_000), connection, number, now_s)
        else:
            if watched.connection is not connection:
                watched.attached_s = now_s
            watched.connection, watched.number = connection, number
            watched.watch.change(bound_ms, now_s * 1_000)
        self._report(watched)
        if id_of(connection) not in self.echoes.delays_ms:
            self.echoes.look(id_of(connection), connection)
        self._ages.want(True)
        if self._timer is None:
            self._timer = self._loop.call_later(REPORT_S, self._go_round)

    def detach(self, id: str) -> None:
        """The client of a durable subscription is gone."""
        watched = self._watched.get(id)
        if watched is not None:
            watched.connection = None

    def forget(self, id: str) -> None:
        """A subscription is no more, or has no bound any more."""
        self._watched.pop(id, None)

    def left(self, connection: Connection) -> None:
        """A client is gone."""
        self.echoes.lost(id_of(connection))
        self.echoes.forget(id_of(connection))

    def stop(self) -> None:
        """Tells nobody anything any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- events --------------------------------------------------------------------------------------

    def arrive(self, event: str, ids: Iterable[str], connection: Connection) -> float | None:
        """An event goes to a client, for these subscriptions; says how old it is when it is there, if that is known."""
        last_ms = self.echoes.delays_ms.get(id_of(connection))
        found = None if last_ms is None else self._ages.of(event, last_ms)
        if found is None:
            return None
        now = monotonic() * 1_000
        for id in ids:
            watched = self._watched.get(id)
            if watched is not None:
                self._note(watched, watched.watch.note(*found, now))
        return found[0]

    def offer(self, event: str, id: str, connection: Connection, *, is_first: bool) -> float | None:
        """The same for an event of a durable subscription."""
        watched = self._watched.get(id)
        if watched is None:
            return None
        born_s = self._ages.born_s(event)
        counts = is_first and born_s is not None and born_s >= watched.attached_s
        return self.arrive(event, (id,) if counts else (), connection)

    def expect(self, effect: ExpectDelay) -> None:
        """The scheme says how late events of subscriptions will come."""
        now = monotonic() * 1_000
        for id in effect.subscriptions:
            watched = self._watched.get(id)
            if watched is not None:
                self._note(watched, watched.watch.expect(effect.reach_ms, effect.direct_ms, now, effect.taken_on_share))

    # -- reports -------------------------------------------------------------------------------------

    def _note(self, watched: _Watched, is_another_state: bool) -> None:
        watched.is_stale = True
        if is_another_state:
            self._report(watched)

    def _report(self, watched: _Watched) -> None:
        """Tells the client how its bound stands."""
        connection = watched.connection
        if connection is None or connection.closing or connection.blocked or connection.version < BOUNDS:
            return
        watched.is_stale = False
        standing = watched.watch.standing
        hop = standing.slowest
        connection.send(
            BoundReported(
                watched.number,
                watched.watch.bound_ms,
                standing.state,
                monotonic() * 1_000 - standing.since_ms,
                standing.counted,
                standing.in_time,
                None if hop is None else hop.taken_ms,
                "" if hop is None else self._name_of(hop.source),
                "" if hop is None or hop.target is None else self._name_of(hop.target),
                _finite(standing.reach_ms),
                _finite(standing.direct_ms),
                standing.taken_on_share,
            )
        )

    def _go_round(self) -> None:
        """Tells what is new, and now and then measures how far away the clients are."""
        attached = [each for each in self._watched.values() if each.connection is not None]
        self._ages.want(bool(attached))
        self._timer = self._loop.call_later(REPORT_S, self._go_round) if attached else None
        self._rounds += 1
        for watched in attached:
            if watched.is_stale:
                self._report(watched)
        if self._rounds % _MEASURED_ROUNDS == 0:
            for connection in {each.connection for each in attached}:
                if connection is not None and not connection.closing and not connection.blocked:
                    self.echoes.look(id_of(connection), connection)

    def describe(self, id: str) -> dict[str, Any] | None:
        """How a subscription's bound stands, for people; None if it has none, or nobody has read it yet."""
        watched = self._watched.get(id)
        return None if watched is None else self._described(watched.watch.standing)

    def _described(self, standing: Standing) -> dict[str, Any]:
        hop = standing.slowest
        return {
            "state": standing.state,
            "for_ms": monotonic() * 1_000 - standing.since_ms,
            "share_in_time": standing.share,
            "counted": standing.counted,
            "slowest_hop": None
            if hop is None
            else {
                "from": self._name_of(hop.source),
                "to": "the subscriber" if hop.target is None else self._name_of(hop.target),
                "delay_ms": hop.taken_ms,
            },
            "reach_ms": _finite(standing.reach_ms),
            "direct_ms": _finite(standing.direct_ms),
        }


def id_of(connection: Connection) -> int:
    """By what the echoes of a client are told from those of others, while it is connected."""
    return id(connection)


def _finite(delay_ms: float | None) -> float | None:
    """A delay, or None where nobody knows it or links are missing: JSON has no word for infinity."""
    return delay_ms if delay_ms is not None and isfinite(delay_ms) else None
