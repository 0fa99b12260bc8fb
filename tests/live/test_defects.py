"""Defects inside a node: a failed effect keeps no other, a failed protocol is made again, poison is set aside.

Two nodes in this process; `n1` has a durable reader that refuses some events, `n0` a publisher. Whatever fails once, at
either of them, all that was acknowledged arrives once and in order.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import siftcast
from siftcast import Event
from siftcast.overlays.contract import (
    CancelTimer,
    Deliver,
    Effect,
    InferRoute,
    MeasureDelay,
    MessageReceived,
    PeerFound,
    PeerLost,
    Persist,
    PersistAll,
    Persisted,
    PublishRequested,
    Refuse,
    Report,
    SendMessage,
    SetTimer,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.durability import Durable
from siftcast.overlays.durability.contract import (
    Accept,
    Bury,
    DurableSubscribeRequested,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.relaying import RESEND_TIMER
from siftcast.runtimes.live.errors import ConnectionLost, Refused
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.set_aside import STOPS_MAX
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import joined, running, url_of

Nodes = dict[str, Node]
EVENTS = 24
REFUSED = {"e5", "e11"}


class Injected(Exception):
    """A failure that a test has put there."""


class Reader:
    """Reads a durable subscription of a node, refuses what it does not like, and keeps what it took."""

    def __init__(self, node: Node, policy: QueuePolicy) -> None:
        self.taken: list[str] = []
        self._node = node
        self._policy = policy
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Reader":
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._read(ready))
        await ready.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self, ready: asyncio.Event) -> None:
        async with (
            siftcast.connect(url_of(self._node), name="reader", timeout_s=60) as bus,
            bus.subscribe("value >= 0", durable="desk", policy=self._policy) as stream,
        ):
            ready.set()
            async for event in stream:
                if event.id in REFUSED:
                    event.nack("not this one")
                else:
                    self.taken.append(event.id)
                    event.ack()


async def persist(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Asks again for as long as the node is not there, as a careful client does."""
    while True:
        try:
            return await ask()
        except (ConnectionLost, Refused):
            await asyncio.sleep(0.02)


async def publish_all(node: Node, bus: siftcast.Bus, first: int, count: int) -> list[str]:
    ids = [f"e{number}" for number in range(first, first + count)]
    for id in ids:
        await persist(lambda id=id: bus.publish(Event({"value": 1}, id=id), durable=True))  # type: ignore[misc]
    return ids


def dead_letters(node: Node) -> int:
    """How many events the reader of a node has refused too often."""
    return sum(row.get("dead", 0) for row in node.describe()["subscriptions"])


def fail_once(node: Node, kind: type[Effect]) -> list[int]:
    """Has the next effect of a kind fail, in the place where it would be carried out; counts the failures."""
    failed: list[int] = []
    carrier = node.life.carrier
    owner, name = {
        Deliver: (carrier._sessions, "deliver"),
        SendMessage: (carrier._peers, "send"),
        Accept: (carrier._durable, "answer"),
        Offer: (carrier._durable, "offer"),
    }.get(kind, (carrier, "_carry_out_rare"))  # type: ignore[call-overload]
    before = getattr(owner, name)

    def failing(*arguments: Any) -> Any:
        if not failed and (owner is not carrier or type(arguments[0]) is kind):
            failed.append(1)
            raise Injected(kind.__name__)
        return before(*arguments)

    setattr(owner, name, failing)
    return failed


async def check_promises(nodes: Nodes, disturb: Callable[[Node], list[int]]) -> list[int]:
    """Publishes through both nodes before, while and after something fails; returns how often it failed at each."""
    policy = QueuePolicy(refusals_max=2, dead_letters_max=10)
    async with (
        siftcast.connect(url_of(nodes["n0"]), name="p", timeout_s=60) as bus,
        Reader(nodes["n1"], policy) as reader,
    ):
        await until(lambda: nodes["n0"].life.protocol.state()["entries"] == 1)
        expected = await publish_all(nodes["n0"], bus, 0, 4)
        failures = [disturb(node) for node in nodes.values()]
        expected += await publish_all(nodes["n0"], bus, 4, EVENTS - 4)
        taken = [id for id in expected if id not in REFUSED]
        await until(lambda: len(reader.taken) >= len(taken))
        await until(lambda: dead_letters(nodes["n1"]) == len(REFUSED))
        assert reader.taken == taken
        return [len(each) for each in failures]


@pytest.mark.parametrize(
    "kind", [Accept, Offer, SendMessage, PersistAll, SetTimer, Bury], ids=lambda kind: kind.__name__
)
@on_loop
async def test_an_effect_that_fails_keeps_no_other_and_loses_nothing(kind: type[Effect], tmp_path: Path) -> None:
    def disturb(node: Node) -> list[int]:
        failed = fail_once(node, kind)
        if kind is SetTimer:  # nobody may need one while all goes well
            node.life.carrier.carry_out([SetTimer(RESEND_TIMER, 1.0)])
        return failed

    async with joined(tmp_path, ("n0", "n1")) as nodes:
        failed = await check_promises(nodes, disturb)
        assert sum(failed) >= 1, "the failure did happen"
        assert sum(node.describe()["effects_failed"] for node in nodes.values()) == sum(failed)


@pytest.mark.parametrize(
    "effect",
    [
        Deliver(Event({}, "e"), ("nobody",)),
        Persist("k", b"v"),
        CancelTimer("none"),
        Refuse("nobody", "because"),
        Expire("nobody", (1,), "too old"),
        Report("something", {"event": "e", "count": 1}),
        MeasureDelay(1),
        InferRoute(1),
    ],
    ids=lambda effect: type(effect).__name__,
)
@on_loop
async def test_effects_after_one_that_failed_are_carried_out(effect: Effect, tmp_path: Path) -> None:
    async with running('data = "data"', tmp_path) as node:
        failed = fail_once(node, type(effect))
        node.life.carrier.carry_out([effect, SetTimer("after", 60_000.0)])
        assert failed == [1]
        assert "after" in node.life.carrier._timers


@on_loop
async def test_a_report_may_use_any_name_for_its_facts(tmp_path: Path) -> None:
    async with running('data = "data"', tmp_path) as node:
        node.life.carrier.carry_out([Report("said", {"event": "e", "level": 1, "node": "x", "exc_info": 0})])
        assert node.life.carrier.failed == 0


def raise_once(node: Node, kind: type[Stimulus], picked: Callable[[Any], bool] = lambda _: True) -> list[int]:
    """Has the protocol fail once, after it has taken in a stimulus of a kind: half staged, nothing said."""
    failed: list[int] = []
    before = node.life.protocol.handle

    def handle(stimulus: Stimulus, now: float) -> Any:
        effects = before(stimulus, now)
        if not failed and type(stimulus) is kind and picked(stimulus):
            failed.append(1)
            raise Injected(kind.__name__)
        return effects

    node.life.protocol.handle = handle  # type: ignore[method-assign]
    return failed


@pytest.mark.parametrize(
    "kind",
    [MessageReceived, PublishRequested, Persisted, OffersAcknowledged, OfferRefused, TimerFired],
    ids=lambda kind: kind.__name__,
)
@on_loop
async def test_a_protocol_that_fails_is_made_again_from_disk_and_loses_nothing(
    kind: type[Stimulus], tmp_path: Path
) -> None:
    def disturb(node: Node) -> list[int]:
        failed = raise_once(node, kind)
        if kind is TimerFired:
            node.life.carrier.carry_out([SetTimer(RESEND_TIMER, 1.0)])
        return failed

    async with joined(tmp_path, ("n0", "n1")) as nodes:
        failed = await check_promises(nodes, disturb)
        assert sum(failed) >= 1, "the failure did happen"


@pytest.mark.parametrize(
    "kind",
    [DurableSubscribeRequested, SubscriberAttached, SubscriberDetached, SubscribeRequested, UnsubscribeRequested],
    ids=lambda kind: kind.__name__,
)
@on_loop
async def test_a_subscription_that_stops_a_node_stands_afterwards(kind: type[Stimulus], tmp_path: Path) -> None:
    name = None if kind in (SubscribeRequested, UnsubscribeRequested) else "desk"
    async with running('data = "data"', tmp_path) as node:
        failed = raise_once(node, kind)
        async with siftcast.connect(url_of(node), timeout_s=60) as bus:
            async with await persist(lambda: entered(bus.subscribe("x = 1", durable=name))):
                pass
            async with await persist(lambda: entered(bus.subscribe("x = 1", durable=name))) as stream:
                while not failed:
                    await asyncio.sleep(0.01)
                await until(lambda: not node.life.down)
                if name is not None:
                    await persist(lambda: bus.publish(Event({"x": 1}, "e"), durable=True))
                else:
                    await until(lambda: node.life.protocol.state()["local"] == 1)
                    await persist(lambda: bus.publish(Event({"x": 1}, "e")))
                assert (await anext(stream)).id == "e"
        assert failed == [1]


async def entered(stream: Any) -> Any:
    """The subscription, once it stands."""
    await stream.__aenter__()
    return _Left(stream)


class _Left:
    """Leaves what was entered before."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aenter__(self) -> Any:
        return self._stream

    async def __aexit__(self, *error: object) -> None:
        await self._stream.__aexit__(*error)


@pytest.mark.parametrize("kind", [PeerFound, PeerLost], ids=lambda kind: kind.__name__)
@on_loop
async def test_a_protocol_that_fails_on_its_neighbours_comes_back(kind: type[Stimulus], tmp_path: Path) -> None:
    def disturb(node: Node) -> list[int]:
        failed = raise_once(node, kind)
        node.life.peers.cut(node.life.peers.connected, "cut by the test")
        return failed

    async with joined(tmp_path, ("n0", "n1")) as nodes:
        assert sum(await check_promises(nodes, disturb)) >= 1


# -- poison ----------------------------------------------------------------------------------------------


def poison(monkeypatch: pytest.MonkeyPatch, name: str, is_poison: Callable[[Stimulus], bool]) -> list[int]:
    """Has every protocol that a node makes for itself fail at some input, in all its lives; counts the failures."""
    stops: list[int] = []
    before = Durable.handle

    def handle(self: Durable, stimulus: Stimulus, now: float) -> Any:
        if self._roster.name(self._node) == name and is_poison(stimulus):
            stops.append(1)
            raise Injected("poison")
        return before(self, stimulus, now)

    monkeypatch.setattr(Durable, "handle", handle)
    return stops


@on_loop
async def test_a_request_that_stopped_a_node_three_times_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = poison(monkeypatch, "node", lambda it: isinstance(it, PublishRequested) and it.event.id == "bad")
    async with running('data = "data"', tmp_path) as node, siftcast.connect(url_of(node), timeout_s=60) as bus:
        for _ in range(2 * STOPS_MAX):
            try:
                await bus.publish(Event({"x": 1}, "bad"), durable=True)
            except ConnectionLost:
                continue
            except Refused as refused:
                if "set aside" in str(refused):
                    break
        else:
            pytest.fail("it was never set aside")
        assert len(stops) == STOPS_MAX
        assert await persist(lambda: bus.publish(Event({"x": 1}, "good"), durable=True))


@on_loop
async def test_a_message_that_stops_a_neighbour_is_kept_apart_there_and_what_follows_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_poison(stimulus: Stimulus) -> bool:
        return isinstance(stimulus, MessageReceived) and stimulus.message.event_id == "e7"

    async with joined(tmp_path, ("n0", "n1")) as nodes:
        stops = poison(monkeypatch, "n1", is_poison)
        async with (
            siftcast.connect(url_of(nodes["n0"]), name="p", timeout_s=60) as bus,
            Reader(nodes["n1"], QueuePolicy(refusals_max=1)) as reader,
        ):
            await until(lambda: nodes["n0"].life.protocol.state()["entries"] == 1)
            ids = await publish_all(nodes["n0"], bus, 0, 16)
            wanted = [id for id in ids if id not in REFUSED and id != "e7"]
            await until(lambda: len(reader.taken) >= len(wanted))
            assert reader.taken == wanted
            assert len(stops) == STOPS_MAX
            await until(lambda: nodes["n0"].life.protocol.state()["relays_waiting"] == 0)
    from siftcast.runtimes.live.storage.store import Store

    store = Store(tmp_path / "data-n1" / "store.sqlite", lambda _: None, nodes["n1"]._log)
    aside = [data for key, data in store.open().items() if key.startswith("aside/")]
    store.close()
    assert len(aside) == 1
    assert b"e7" in aside[0]
