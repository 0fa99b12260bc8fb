"""What a node does with timers, neighbours that do not keep up, and events without an id."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import siftcast
from siftcast import Event
from siftcast.overlays.contract import (
    CancelTimer,
    DelayMeasured,
    Effect,
    MeasureDelay,
    Persist,
    Persisted,
    PersistFailed,
    Protocol,
    PublishRequested,
    Refuse,
    SetTimer,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.messages import Publication, Retract
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.wire.connection import Connection
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running, url_of


class Scripted(Protocol):
    """Keeps what it was told, and asks for what an event names."""

    def __init__(self, script: Mapping[str, Sequence[Effect]]) -> None:
        self.told: list[Stimulus] = []
        self._script = script

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        self.told.append(stimulus)
        if isinstance(stimulus, PublishRequested):
            name = str(stimulus.event["do"])
            return self._script[name]
        return ()

    def state(self) -> Mapping[str, Any]:
        return {"local": 0}


def scripted(node: Node, **script: Sequence[Effect]) -> Scripted:
    protocol = Scripted(script)
    node.life.protocol = protocol
    return protocol


@on_loop
async def test_timers_fire_once_and_can_be_replaced_and_cancelled() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        protocol = scripted(
            node,
            set=(SetTimer("a", 60_000), SetTimer("a", 1), SetTimer("b", 1), SetTimer("c", 1), CancelTimer("b")),
            again=(SetTimer("d", 1), CancelTimer("never set")),
        )
        await bus.publish({"do": "set"})
        await until(lambda: TimerFired("c") in protocol.told)
        await bus.publish({"do": "again"})
        await until(lambda: TimerFired("d") in protocol.told)
        fired = [each.name for each in protocol.told if isinstance(each, TimerFired)]
        assert fired == ["a", "c", "d"]


@on_loop
async def test_what_is_persisted_is_reported_and_handed_to_the_next_node(tmp_path: Any) -> None:
    async with running('data = "data"', tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        protocol = scripted(node, keep=(Persist("k", b"value"),))
        await bus.publish({"do": "keep"})
        await until(lambda: Persisted("k") in protocol.told)
    node = Node(configured('data = "data"', tmp_path))
    protocol = scripted(node)
    await node.start()
    (started,) = (each for each in protocol.told if isinstance(each, Started))
    assert started.restored["k"] == b"value"
    assert started.clock_ms is not None
    assert not [each for each in protocol.told if isinstance(each, PersistFailed)]
    await node.stop()


@on_loop
async def test_what_a_protocol_refuses_is_raised_where_it_was_published() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        scripted(node, no=(Refuse("e1", "between two values"),), measure=(MeasureDelay(7),))
        with pytest.raises(Refused, match="between two values"):
            await bus.publish(Event({"do": "no"}, "e1"))
        protocol = scripted(node, measure=(MeasureDelay(7),))
        await bus.publish({"do": "measure"})
        await until(lambda: DelayMeasured(7, None) in protocol.told)


@on_loop
async def test_to_a_neighbour_that_does_not_keep_up_events_are_dropped_and_control_is_not() -> None:
    async with running() as node:
        connection = Connection(node._outbox, lambda _: None)  # type: ignore[arg-type, return-value]
        node.life.peers._links[1] = connection
        connection.pause_writing()
        node.life.peers.send(Publication(Event({"x": 1}, "e"), 0), (1,))
        assert (connection.pieces, node.life.peers.dropped) == ([], 1)
        node.life.peers.send(Retract(("s",)), (1, 2))
        assert len(connection.pieces) == 1
        assert (node.life.peers.sent, node.life.peers.dropped) == (1, 2)
        del node.life.peers._links[1]


@on_loop
async def test_an_event_without_an_id_is_given_one() -> None:
    from siftcast.overlays.wire_events import decode_event, encode_fields

    async with running() as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("x = 1") as stream:
        for _ in range(2):
            assert node.life.publish(decode_event(encode_fields("", {"x": 1}))) is None
        ids = {(await anext(stream)).id for _ in range(2)}
        assert len(ids) == 2
        assert "" not in ids
