"""Does what the protocol wants done, effect by effect: to clients, neighbours, timers and the disk.

A failed effect never prevents the others: it is reported, and whoever waits for it is answered, so that nothing stands
still for it.

    effect                  if it fails
    ──────────────────────────────────────────────────────────────────────────────────────────
    Persist, PersistAll     `PersistFailed`: what it holds is written again, publishers are refused
    SetTimer                the timer fires late; protocols look at the clock, not at who woke them
    SendMessage             the connections are cut: the neighbour is found again, and both say again what counts
    Offer                   the client's connection is cut: it comes back, and is offered the event again
    Accept, Refuse          the asker's connection is cut: it comes back and asks again
    MeasureDelay, InferRoute    answered with "unknown"
    Deliver                 ephemeral: the event is missed, at most once allows that
    Watch, Unwatch, Leave   nothing: they change what this node remembers, which cannot fail
    Bury, Expire, Report, ExpectDelay   nothing: they only tell
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from siftcast.overlays.contract import (
    CancelTimer,
    Defer,
    DelayMeasured,
    Deliver,
    Effect,
    Effects,
    ExpectDelay,
    InferRoute,
    Leave,
    MeasureDelay,
    NodeId,
    Persist,
    PersistAll,
    Persisted,
    PersistFailed,
    Refuse,
    Report,
    RouteInferred,
    SendMessage,
    SetTimer,
    Spent,
    TimerFired,
    Unwatch,
    Watch,
)
from siftcast.overlays.durability.contract import Accept, Bury, Expire, Offer
from siftcast.runtimes.live.errors import LiveError, StoreError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.durable_clients import DurableClients
from siftcast.runtimes.live.node.peers import Peers, Tell
from siftcast.runtimes.live.node.routes import Routes
from siftcast.runtimes.live.node.sessions import Sessions
from siftcast.runtimes.live.node.traceroute import Route
from siftcast.runtimes.live.storage.memory_store import Keeper
from siftcast.runtimes.live.storage.store import Reported

_LATE_S = 1.0
_NO_STORE = "the scheme must keep something; name a folder as data in [node]"


class Carrier:
    """Carries out the effects of one life of a node."""

    def __init__(
        self,
        sessions: Sessions,
        peers: Peers,
        routes: Routes,
        durable: DurableClients | None,
        store: Keeper | None,
        *,
        tell: Tell,
        leave: Callable[[str], None],
        log: Logger,
    ) -> None:
        self.failed = 0
        self.writing = 0
        """Writes that the store has not answered."""
        self._tell = tell
        self._leave = leave
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._sessions = sessions
        self._peers = peers
        self._routes = routes
        self._durable = durable
        self._store = store
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def carry_out(self, effects: Effects) -> None:
        """Does all of them, whatever becomes of one."""
        for effect in effects:
            try:
                kind = type(effect)
                if kind is Deliver:
                    self._sessions.deliver(effect.event, effect.subscriptions)  # type: ignore[attr-defined]
                elif kind is SendMessage:
                    self._peers.send(effect.message, effect.destinations)  # type: ignore[attr-defined]
                elif (kind is Accept or kind is Offer) and self._durable is not None:
                    if kind is Accept:
                        self._durable.answer(effect.request, None)  # type: ignore[attr-defined]
                    else:
                        self._durable.offer(effect)  # type: ignore[arg-type]
                elif kind is not Spent:
                    self._carry_out_rare(effect)
            except Exception as error:
                self._make_good(effect, error)

    def stop(self) -> None:
        """Lets no timer fire any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _carry_out_rare(self, effect: Effect) -> None:
        match effect:
            case SetTimer(name, after_ms):
                self._set_timer(name, after_ms / 1_000)
            case CancelTimer(name):
                self._cancel(name)
            case Persist(key, data):
                self._write(key, ((key, data),))
            case PersistAll(key, changes):
                self._write(key, changes)
            case MeasureDelay(peer):
                self._peers.measure(peer)
            case Watch(peer):
                self._peers.watch(peer)
            case Unwatch(peer):
                self._peers.unwatch(peer)
            case Leave():
                self._leave(effect.reason)
            case InferRoute(peer):
                self._routes.ask(peer, partial(self._tell_route, peer), "protocol")
            case ExpectDelay():
                self._sessions.bounds.expect(effect)
            case Defer():
                pass  # durable nodes see to it
            case Refuse(request, reason):
                if self._durable is None or not self._durable.answer(request, reason):
                    self._log.info("refused", request=request, reason=reason)
            case Bury() if self._durable is not None:
                self._durable.bury(effect)
            case Expire() if self._durable is not None:
                self._durable.expire(effect)
            case Report(what, facts, routine):
                self._say(what, facts, self._log.info if routine else self._log.warning)
            case _:
                raise LiveError(f"the protocol wants {effect!r}, which a node cannot do")

    def _tell_route(self, peer: NodeId, route: Route) -> None:
        self._tell(RouteInferred(peer, route.routers, route.status, route.delays_ms))

    def _write(self, key: str, changes: object) -> None:
        if self._store is None:
            raise StoreError(_NO_STORE)
        self.writing += 1
        self._store.write(key, changes)  # type: ignore[arg-type]

    def tell_written(self, written: Reported) -> None:
        """Reports what has become of writes."""
        self.writing -= len(written)
        for key, failure in written:
            self._tell(Persisted(key) if failure is None else PersistFailed(key, failure))

    def _say(self, what: str, facts: Mapping[str, str | int | float], say: Callable[..., object]) -> None:
        # Facts have names of the protocol's choosing, which must not clash with those of the log itself.
        say(what, **{name if name != "event" else "event_id": value for name, value in facts.items()})

    def _set_timer(self, name: str, after_s: float) -> None:
        self._cancel(name)
        self._timers[name] = self._loop.call_later(after_s, self._fire, name)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, name: str) -> None:
        self._timers.pop(name, None)
        self._tell(TimerFired(name))

    # -- effects that failed -------------------------------------------------------------------------

    def _make_good(self, effect: Effect, error: Exception) -> None:
        self.failed += 1
        kind = type(effect).__name__
        self._log.error("effect failed", effect=kind, error=f"{type(error).__name__}: {error}", exc_info=error)
        reason = f"{kind} failed: {error}"
        try:
            match effect:
                case Persist(key) | PersistAll(key):
                    self._loop.call_soon(self._tell, PersistFailed(key, str(error)))
                case SetTimer(name):
                    self._timers[name] = self._loop.call_later(_LATE_S, self._fire, name)
                case SendMessage(_, destinations):
                    self._peers.cut(destinations, reason)
                case Offer(subscription) if self._durable is not None:
                    self._durable.cut(subscription, reason)
                case Accept(request) | Refuse(request) if self._durable is not None:
                    self._durable.cut_askers(request, reason)
                case MeasureDelay(peer):
                    self._loop.call_soon(self._tell, DelayMeasured(peer, None))
                case InferRoute(peer):
                    self._loop.call_soon(self._tell, RouteInferred(peer, (), "unavailable"))
        except Exception as second:  # making good is itself an effect, and keeps nobody either
            self._log.error("effect failed", effect=f"after {kind}", error=str(second), exc_info=second)
