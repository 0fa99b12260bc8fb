"""Dry runs and traces: whom an event would reach and why not others, and which way it took, across nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest

import siftcast
from siftcast import Event, Filter
from siftcast.overlays.contract import Deliver, MessageReceived, PublishRequested, Refuse, SendMessage
from siftcast.overlays.messages import Publication, Retract
from siftcast.runtimes.live.errors import Forbidden, FrameError
from siftcast.runtimes.live.event_trace import follow
from siftcast.runtimes.live.node.hops import ID_LENGTH_MAX, NAMED_MAX, Hops
from siftcast.runtimes.live.node.inquiries import _fitting
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.rights import new_token
from siftcast.runtimes.live.reach import LISTED_MAX, judge, reach_of
from siftcast.runtimes.live.wire.node_frames import PeerAnswer, PeerQuestion
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, url_of
from tests.live.test_rights import principal
from tests.live.test_tls import free_ports


@asynccontextmanager
async def chain(scheme: str = "filter-based") -> AsyncIterator[tuple[list[Node], list[siftcast.Bus]]]:
    """Nodes a, b and c in a row, and a bus at each."""
    ports = [port for _ in range(2) for port in free_ports()][:3]
    members = "".join(
        f'[[overlay.nodes]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
        for name, port in zip("abc", ports, strict=True)
    )
    overlay = f'[overlay]\nscheme = "{scheme}"\nlinks = [["a", "b"], ["b", "c"]]\n{members}'
    async with AsyncExitStack() as stack:
        nodes = []
        for name, port in zip("abc", ports, strict=True):
            text = f'name = "{name}"\n{overlay}'
            file = configured(text)
            file = msgspec.structs.replace(
                file,
                configuration=msgspec.structs.replace(
                    file.configuration,
                    node=msgspec.structs.replace(file.configuration.node, listen=f"127.0.0.1:{port}"),
                ),
            )
            node = Node(file)
            await node.start()
            stack.push_async_callback(node.stop)
            nodes.append(node)
        await until(lambda: not any(node.life.peers.missing for node in nodes))
        buses = [
            await stack.enter_async_context(siftcast.connect(url_of(node), name=f"at {name}"))
            for name, node in zip("abc", nodes, strict=True)
        ]
        yield nodes, buses


@on_loop
async def test_a_dry_run_says_whom_an_event_would_reach_at_every_node_and_publishes_nothing() -> None:
    async with (
        chain() as (nodes, buses),
        buses[0].subscribe("price < 95"),
        buses[2].subscribe("price > 50"),
        buses[2].subscribe("price > 100 AND symbol = 'IBM'"),
    ):
        found = await buses[0].dry_run({"price": 88, "symbol": "IBM"})
        assert found.nodes == ("a", "b", "c")
        assert found.silent == ()
        assert [(row.node, row.client, row.filter) for row in found.reached] == [
            ("a", "at a", "price < 95"),
            ("c", "at c", "price > 50"),
        ]
        assert found.reached_nodes == ("a", "c")
        (missed,) = found.missed
        assert missed.node == "c"
        assert "✗ price > 100   (price is 88)" in missed.why
        assert "✓ symbol = 'IBM'" in missed.why
        assert sum(node.tally.published for node in nodes) == 0


@on_loop
async def test_a_trace_follows_an_event_hop_by_hop_with_a_reason_for_each() -> None:
    async with chain() as (nodes, buses), buses[2].subscribe("n > 0") as stream:
        await until(lambda: nodes[0].describe()["state"].get("entries"))
        await buses[0].publish(Event({"n": 1}, "e-1"))
        await anext(stream)
        found = await buses[1].trace("e-1")
        assert [node for node, _ in found.published] == ["a"]
        assert [(hop.sender, hop.receiver) for hop in found.hops] == [("a", "b"), ("b", "c")]
        assert found.hops[0].reason == "wanted by 1 subscription beyond it at c (n > 0)"
        assert found.hops[1].reason == "wanted by 1 subscription there (n > 0)"
        times = [found.published[0][1]]
        for hop in found.hops:
            assert hop.arrived_ms is not None
            times += [hop.sent_ms, hop.arrived_ms]
        times.append(found.deliveries[0].at_ms)
        assert times == sorted(times), "one machine has one clock"
        assert [(each.node, each.count) for each in found.deliveries] == [("c", 1)]
        assert not (await buses[0].trace("never published")).is_known


@on_loop
async def test_a_hop_that_led_nowhere_says_what_its_message_is_for() -> None:
    async with chain("broadcast") as (_, buses), buses[1].subscribe("n > 0") as stream:
        await buses[0].publish(Event({"n": 1}, "e-1"))
        await anext(stream)
        found = await buses[0].trace("e-1")
        while len(found.hops) < 2:
            found = await buses[0].trace("e-1")
        onward = next(hop for hop in found.hops if hop.receiver == "c")
        assert "nothing was delivered there" in onward.reason


@on_loop
async def test_nodes_that_are_gone_or_frozen_are_named_as_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siftcast.runtimes.live.node.inquiries.PATIENCE_MS", 200.0)
    async with chain() as (nodes, buses):
        monkeypatch.setattr(nodes[2].life.inquiries, "received", lambda *_: None)
        found = await buses[0].dry_run({"n": 1})
        assert found.nodes == ("a", "b")
        assert found.silent == ("c",)
        await nodes[1].stop()
        await until(lambda: nodes[0].life.peers.missing)
        assert (await buses[0].dry_run({"n": 1})).silent == ("b", "c")


@on_loop
async def test_a_neighbour_that_is_lost_is_not_waited_for() -> None:
    async with chain() as (nodes, buses):
        asked = asyncio.Event()
        nodes[1].life.inquiries.received = lambda *_: asked.set()  # type: ignore[method-assign]
        question = asyncio.create_task(buses[0].trace("e"))
        await asked.wait()
        await nodes[1].stop()
        assert (await question).silent == ("b", "c")
        assert not nodes[0].life.inquiries._open


@on_loop
async def test_a_neighbour_that_talks_nonsense_harms_nobody() -> None:
    async with chain() as (nodes, buses):
        passed_on = nodes[1].life.inquiries.received

        def answer_badly(sender: int, frame: PeerQuestion | PeerAnswer) -> None:
            if isinstance(frame, PeerQuestion):
                nodes[1].life.peers.send_frame(sender, PeerQuestion("odd", "trace", b"\xff", float("nan")))
                nodes[1].life.peers.send_frame(sender, PeerAnswer("never asked", [{"node": "c"}]))
                nodes[1].life.peers.send_frame(sender, PeerAnswer(frame.id, [{}, {"node": ["b"]}, {"node": "nobody"}]))

        nodes[1].life.inquiries.received = answer_badly  # type: ignore[method-assign]
        found = await buses[0].dry_run({"n": 1})
        assert (found.nodes, found.silent) == (("a",), ("b", "c"))
        nodes[1].life.inquiries.received = passed_on  # type: ignore[method-assign]
        assert (await buses[0].dry_run({"n": 1})).nodes == ("a", "b", "c")


@on_loop
async def test_a_dry_run_is_for_those_who_may_see_and_publish() -> None:
    one, two = new_token(), new_token()
    text = principal("sees", one, 'see = true\npublish = "n = 1"') + principal("blind", two, 'publish = "TRUE"')
    async with in_process(text, token=one) as bus:
        assert (await bus.dry_run({"n": 1})).nodes == ("node",)
        with pytest.raises(Forbidden, match="may publish only what matches"):
            await bus.dry_run({"n": 2})
        async with bus.connect(token=two) as blind:
            with pytest.raises(Forbidden, match="may not see"):
                await blind.dry_run({"n": 1})


def test_rows_are_listed_up_to_a_limit_and_counted_in_full() -> None:
    filters = [(f"s{n}", "client", Filter.parse(f"n >= {n}")) for n in range(200)]
    found = reach_of([{"node": "a", **judge(Event({"n": 120}), filters)}], ())
    assert (found.reached_count, found.missed_count) == (121, 79)
    assert len(found.reached) == len(found.missed) == LISTED_MAX


def test_a_node_is_named_as_reached_although_its_rows_did_not_fit() -> None:
    answer = {"node": "a", **judge(Event({"n": 1}), [("s", "client", Filter.parse("n = 1"))])}
    found = reach_of([answer | {"reached": []}, {"node": "b", **judge(Event({"n": 1}), [])}], ())
    assert found.reached_nodes == ("a",)


def test_answers_are_cut_until_they_fit_a_frame() -> None:
    answers: list[dict[str, Any]] = [{"node": "a", "rows": [{"text": "x" * 100} for _ in range(100)], "count": 100}]
    fitting = _fitting(answers, 4_096)
    assert 0 < len(fitting[0]["rows"]) < 100
    assert fitting[0]["count"] == 100
    assert len(msgspec.msgpack.encode(fitting)) <= 4_096
    with pytest.raises(FrameError, match="frame_bytes_max"):
        _fitting([{"node": "a" * 5_000, "rows": []}], 4_096)


def test_a_node_remembers_so_many_rows_and_no_more() -> None:
    hops = Hops(10, 1_000.0)
    for number in range(100):
        hops.note(PublishRequested(Event({}, f"e{number}")), (), float(number))
    hops.note(PublishRequested(Event({}, "e" * (ID_LENGTH_MAX + 1))), (), 0.0)
    assert len(hops) == 10
    assert hops.of("e0", (), lambda _: None) == []
    assert [row["at_ms"] for row in hops.of("e99", (), lambda _: None)] == [1_099.0]


def test_a_node_remembers_what_became_of_an_event() -> None:
    hops, event = Hops(100, 0.0), Event({"n": 1}, "e")
    message = Publication(event, 0)
    ids = [f"s{number}" for number in range(50)]
    effects = (
        Deliver(event, ids),
        SendMessage(message, (2, 0)),
        SendMessage(Retract(("x",)), (1,)),
        Refuse("e", "why"),
    )
    hops.note(MessageReceived(1, message), effects, 5.0)
    rows = hops.of("e", "abc", lambda id: Filter.parse("n = 1") if id == "s0" else None)
    assert [(row["what"], row["nodes"], row["count"]) for row in rows] == [
        ("received", ["b"], 0), ("delivered", [], 50), ("sent", ["c", "a"], 0), ("refused", [], 0)
    ]  # fmt: skip
    assert len(rows[1]["subscriptions"]) == NAMED_MAX
    assert rows[1]["subscriptions"][:2] == [{"id": "s0", "filter": "n = 1"}, {"id": "s1", "filter": ""}]
    assert rows[2]["message"] == "Publication"
    assert rows[2]["purpose"].startswith("An event under way")
    assert rows[3]["reason"] == "why"


def row(what: str, at_ms: float, *nodes: str) -> dict[str, Any]:
    return {
        "what": what, "at_ms": at_ms, "nodes": nodes, "message": "M", "purpose": "For a test", "reason": "",
        "subscriptions": [], "count": 1,
    }  # fmt: skip


def test_a_hop_comes_after_the_one_that_brought_the_event_whatever_the_clocks_say() -> None:
    answers = [
        {"node": "b", "rows": [row("received", -900.0, "a"), row("sent", -899.0, "c")]},
        {"node": "a", "rows": [row("published", 0.0), row("sent", 1.0, "b")]},
        {"node": "c", "rows": [row("delivered", 50.0)]},
    ]
    found = follow("e", answers, ())
    assert [(hop.sender, hop.arrived_ms) for hop in found.hops] == [("a", -900.0), ("b", None)]
    assert "beyond it at c" in found.hops[0].reason
