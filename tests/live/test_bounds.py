"""A bound on delay is measured at the subscriber, over links that are as slow as a proxy makes them."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import siftcast
from siftcast.model import SubscriptionError
from siftcast.overlays.contract import ExpectDelay
from siftcast.runtimes.live.client.bounds import Bound, SlowestHop, Wishes
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.client.received import EventStream, ReceivedEvent
from siftcast.runtimes.live.errors import Forbidden, Refused
from siftcast.runtimes.live.node import meeting
from siftcast.runtimes.live.node.rights import hash_token, new_token
from siftcast.runtimes.live.wire.frames import Hello, Welcome, encode_frame
from siftcast.schemes import scheme as scheme_of
from siftcast.schemes import scheme_names
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import joined, running, url_of
from tests.live.proxies import Proxy
from tests.live.small_networks import SmallNetwork, small_network

FAST_MS, SLOW_MS = 10.0, 60.0
NEVER_MS = 60_000.0
"""A bound that no machine is too slow for."""


@asynccontextmanager
async def chain(folder: Path, *, durable: bool = False) -> AsyncIterator[SmallNetwork]:
    """n0 ── 10 ms ── n1 ── 60 ms ── n2, measured from both ends."""
    async with AsyncExitStack() as stack:
        overlay = 'links = [["n0", "n1"], ["n1", "n2"]]'
        network = await stack.enter_async_context(small_network(folder, 3, durable=durable, overlay=overlay))
        for number, delay_ms in enumerate((FAST_MS, SLOW_MS)):
            proxy = await stack.enter_async_context(Proxy("127.0.0.1", network.port(f"n{number}")))
            proxy.delay(delay_ms / 1_000)
            before, after = (f"n{number}", f"n{number + 1}")
            if not number:
                await network.start(before)
            await network.start(after, {before: proxy.address})
        await network.joined()
        yield network


async def measured(network: SmallNetwork) -> None:
    """Waits until all nodes say how old events are, and know how far away their neighbours are."""
    peers = [node.life.peers for node in network.nodes.values()]
    await until(lambda: all(each.ages.is_wanted for each in peers))
    await until(lambda: all(set(each.connected) <= set(each.echoes.delays_ms) for each in peers))


async def aged(publisher: Bus, stream: EventStream) -> ReceivedEvent:
    """Publishes until an event arrives whose age is known: until all know that it is wanted here."""
    for number in itertools.count():
        await publisher.publish({"x": number, "value": number % 1_000})
        try:
            event = await asyncio.wait_for(anext(stream), 0.2)
        except TimeoutError:
            continue
        event.ack()
        if event.age_ms is not None:
            return event
    raise AssertionError


@on_loop
async def test_every_scheme_says_whether_a_bound_is_kept_and_which_hop_was_slowest(tmp_path: Path) -> None:
    async with chain(tmp_path) as network:
        told: list[Bound] = []
        async with siftcast.connect(network.url("n0")) as publisher, siftcast.connect(network.url("n2")) as bus:
            loose = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS, bandwidth=1e6).ready()
            assert (loose.bound and loose.bound.state) == "unmeasured"
            await measured(network)
            event = await aged(publisher, loose)
            assert (event.age_ms or 0.0) > 0.9 * (FAST_MS + SLOW_MS)  # timers may ring early
            assert (event.late_ms, event.is_late) == (0.0, False)
            tight = await bus.subscribe("x >= 0", delay_ms_max=FAST_MS, on_bound=told.append).ready()
            late = await aged(publisher, tight)
            assert late.is_late
            assert late.late_ms == pytest.approx((late.age_ms or 0.0) - FAST_MS)
            await until(lambda: told)
            await until(lambda: loose.bound and loose.bound.slowest_hop)
            assert loose.bound is not None
            assert (loose.bound.state, loose.bound.share_in_time) == ("met", 1.0)
            hop = loose.bound.slowest_hop
            assert hop is not None
            assert (hop.source, hop.target) == ("n1", "n2")
            assert hop.delay_ms > 0.9 * SLOW_MS
            assert (told[0].state, told[0].in_time, told[0].delay_ms_max) == ("missed", 0, FAST_MS)
            rows = (await bus.describe())["subscriptions"]
            assert [row["delay_ms_max"] for row in rows] == [NEVER_MS, FAST_MS]
            assert [row["bandwidth"] for row in rows] == [1e6, None]
            assert [row["bound"]["state"] for row in rows] == ["met", "missed"]
            assert rows[1]["bound"]["slowest_hop"]["to"] == "n2"


@pytest.mark.parametrize("scheme", [name for name in scheme_names() if not scheme_of(name).simulated_only])
@on_loop
async def test_in_each_scheme_that_runs_on_sockets_the_age_of_events_is_known(scheme: str, tmp_path: Path) -> None:
    async with (
        joined(tmp_path, ["a", "b", "c"], scheme, durable=False) as nodes,
        siftcast.connect(url_of(nodes["a"])) as publisher,
        siftcast.connect(url_of(nodes["c"])) as bus,
    ):
        stream = await bus.subscribe("value >= 0", delay_ms_max=NEVER_MS).ready()
        event = await aged(publisher, stream)
        assert event.late_ms == 0.0
        await until(lambda: stream.bound and stream.bound.counted)
        assert (stream.bound and stream.bound.state) == "met"


@on_loop
async def test_a_link_that_is_slow_one_way_only_is_taken_for_the_mean_of_both(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network, Proxy("127.0.0.1", network.port("n0")) as proxy:
        proxy.delay(0.0, 2 * SLOW_MS / 1_000)
        await network.start("n0")
        await network.start("n1", {"n0": proxy.address})
        await network.joined()
        async with siftcast.connect(network.url("n0")) as one, siftcast.connect(network.url("n1")) as other:
            for publisher, bus in ((one, other), (other, one)):
                stream = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS).ready()
                await measured(network)
                event = await aged(publisher, stream)
                assert (event.age_ms or 0.0) >= 0.9 * SLOW_MS


@on_loop
async def test_bounds_change_while_the_subscription_stands(tmp_path: Path) -> None:
    async with chain(tmp_path) as network:
        told: list[Bound] = []
        async with siftcast.connect(network.url("n0")) as publisher, siftcast.connect(network.url("n2")) as bus:
            stream = await bus.subscribe("x >= 0", delay_ms_max=FAST_MS, on_bound=told.append).ready()
            await measured(network)
            await aged(publisher, stream)
            await until(lambda: [each.state for each in told] == ["missed"])
            await stream.replace(delay_ms_max=NEVER_MS)  # the same events, judged anew
            await until(lambda: [each.state for each in told] == ["missed", "met"])
            assert (stream.bound and stream.bound.delay_ms_max) == NEVER_MS
            assert not (await aged(publisher, stream)).is_late
            await stream.replace("x > -5")
            assert (stream.bound and stream.bound.state) == "met"
            await stream.replace(delay_ms_max=None)
            assert stream.bound is None
            await publisher.publish({"x": 1})
            event = await anext(stream)
            assert (event.age_ms, event.late_ms, event.is_late) == (None, None, False)
            (row,) = (await bus.describe())["subscriptions"]
            assert (row["delay_ms_max"], row["bound"], row["filter"]) == (None, None, "x > -5")


@on_loop
async def test_what_no_overlay_could_keep_is_said_to_be_impossible() -> None:
    told: list[Bound] = []
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("x = 1", delay_ms_max=50, on_bound=told.append).ready()
        (row,) = node.describe()["subscriptions"]
        node.life.carrier.carry_out([ExpectDelay((row["id"], "unknown"), float("inf"), 80.0)])
        await until(lambda: told)
        assert (told[0].state, told[0].direct_ms, told[0].reach_ms) == ("impossible", 80.0, None)
        assert "the farthest publisher itself is 80 ms away" in str(told[0])
        node.life.carrier.carry_out([ExpectDelay((row["id"],), 45.0, 40.0)])
        await until(lambda: len(told) == 2)
        assert (told[1].state, told[1].reach_ms) == ("met", 45.0)
        stream.close()


@on_loop
async def test_each_filter_of_many_has_its_own_bound_and_the_worst_is_shown() -> None:
    told: list[Bound] = []
    own = siftcast.Subscription("own", siftcast.Filter.parse("x > 5"), delay_ms_max=1e-6)
    async with in_process() as bus:
        wanted = [("all", "x > 0"), own]
        stream = await bus.subscribe_many(wanted, delay_ms_max=NEVER_MS, on_bound=told.append).ready()
        await until(lambda: {each.delay_ms_max for each in stream.bounds.values()} == {NEVER_MS, 1e-6})
        while (await published(bus, stream, 1)).age_ms is None:
            pass
        assert (await published(bus, stream, 1)).late_ms == 0.0
        event = await published(bus, stream, 9)
        assert event.matched == ("all", "own")
        assert event.is_late
        await until(lambda: {each.name: each.state for each in told} == {"all": "met", "own": "missed"})
        assert stream.bounds["all"].state == "met"
        assert stream.bound == stream.bounds["own"]
        with pytest.raises(SubscriptionError, match="delay_ms_max"):
            bus.subscribe_many(["x = 1"], on_bound=told.append)


async def published(bus: Bus, stream: EventStream, value: int) -> ReceivedEvent:
    await bus.publish({"x": value})
    return await anext(stream)


@on_loop
async def test_a_durable_subscription_keeps_its_bound_and_does_not_hold_its_own_absence_against_the_network(
    tmp_path: Path,
) -> None:
    table = f'data = "{tmp_path}"'
    async with running(table) as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("x >= 0", "desk", delay_ms_max=5_000, bandwidth=1e6).ready()
        assert not (await aged(bus, stream)).is_late
        stream.close()
        await until(lambda: not node.describe()["subscriptions"][0]["client"])
        before = node.describe()["subscriptions"][0]["bound"]
        await bus.publish({"x": 5})
        again = await bus.subscribe("x >= 0", "desk", on_bound=lambda _: None).ready()
        waited = await anext(again)
        assert waited.age_ms is not None
        waited.ack()
        assert (again.bound and again.bound.delay_ms_max) == 5_000
        assert node.describe()["subscriptions"][0]["bound"]["counted"] == before["counted"]
        await bus.publish({"x": 6})
        (await anext(again)).ack()
        await until(lambda: node.describe()["subscriptions"][0]["bound"]["counted"] == before["counted"] + 1)
    async with running(table) as node:
        (row,) = node.describe()["subscriptions"]
        assert (row["delay_ms_max"], row["bandwidth"], row["bound"]) == (5_000.0, 1e6, None)
        async with siftcast.connect(url_of(node)) as bus:
            stream = await bus.subscribe("x >= 0", "desk").ready()
            await stream.replace(delay_ms_max=None)
            (row,) = node.describe()["subscriptions"]
            assert (row["delay_ms_max"], row["bandwidth"]) == (None, 1e6)


@on_loop
async def test_rights_limit_the_tightest_bound() -> None:
    token = new_token()
    principal = f'[[principal]]\nname = "desk"\ntoken_hash = "{hash_token(token)}"\nsubscribe = "TRUE"\n'
    async with in_process(principal + "delay_ms_min = 50\n", token=token) as bus:
        with pytest.raises(Forbidden, match=r"bounds of 50 ms or more, not of 49 \(delay_ms_min in its table\)"):
            await bus.subscribe("x = 1", delay_ms_max=49).ready()
        stream = await bus.subscribe("x = 1", delay_ms_max=50).ready()
        with pytest.raises(Forbidden, match="bounds of 50 ms or more"):
            await stream.replace(delay_ms_max=1)
        assert (stream.bound and stream.bound.delay_ms_max) == 50
        await bus.subscribe("x = 1").ready()


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), True, "50", 1e16])
def test_what_is_no_bound_is_refused_at_once(wrong: object) -> None:
    bus = siftcast.connect()
    for name in ("delay_ms_max", "bandwidth"):
        with pytest.raises(SubscriptionError, match=f"{name} is a positive number of"):
            bus.subscribe("x = 1", **{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(SubscriptionError, match="on_bound is a function"):
        bus.subscribe("x = 1", delay_ms_max=1, on_bound=wrong)  # type: ignore[arg-type]


def test_a_handler_without_a_bound_is_refused() -> None:
    with pytest.raises(SubscriptionError, match="give one as delay_ms_max"):
        siftcast.connect().subscribe("x = 1", on_bound=print)


@on_loop
async def test_a_node_that_would_not_read_the_bound_is_not_asked() -> None:
    async def old_node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_frame(Welcome(3, "old", 5_000.0, 1_048_576, 262_144)))
        await reader.read()

    server = await asyncio.start_server(old_node, "127.0.0.1", 0)
    async with siftcast.connect(f"siftcast://127.0.0.1:{server.sockets[0].getsockname()[1]}") as bus:
        for wish in ({"delay_ms_max": 50.0}, {"bandwidth": 50.0}):
            with pytest.raises(Refused, match="speaks version 3, which knows no delay_ms_max"):
                await bus.subscribe("x = 1", **wish).ready()  # type: ignore[arg-type]
    server.close()


@on_loop
async def test_over_a_connection_of_version_3_events_come_without_their_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_network(tmp_path, 2) as network:
        newer = await network.start("n0")
        hello = meeting.Meeting.hello

        def older(self: meeting.Meeting, called: int) -> Hello:
            said = hello(self, called)
            return msgspec.structs.replace(said, version=3)

        monkeypatch.setattr(meeting.Meeting, "hello", older)
        node = await network.start("n1")  # which is the one that calls
        await network.joined()
        async with siftcast.connect(url_of(node)) as publisher, siftcast.connect(url_of(newer)) as bus:
            stream = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS).ready()
            await until(lambda: newer.life.peers.ages.is_wanted)
            await until(lambda: node.describe()["state"]["entries"])
            await publisher.publish({"x": 1})
            event = await anext(stream)
            assert (event["x"], event.age_ms, event.late_ms) == (1, None, None)
            assert not node.life.peers.ages.is_wanted
            assert (stream.bound and stream.bound.state) == "unmeasured"


def test_a_bound_is_told_in_words() -> None:
    hop = SlowestHop("a", "", 44.0)
    told = str(Bound(50.0, state="missed", counted=100, in_time=87, slowest_hop=hop))
    assert told == ("bound, 50 ms: missed; 87.0% of the last 100 events in time; slowest hop a → the subscriber, 44 ms")
    explained = Bound(50.0, state="missed", counted=9, in_time=8, reach_ms=60.0, direct_ms=20.0, taken_on_share=0.125)
    assert explained.explain().splitlines() == [
        "50 ms: missed",
        "8 of the last 9 events came in time",
        "over the links there are, events of the farthest publisher take 60 ms",
        "that publisher itself is 20 ms away",
        "12.5% of what the node receives for it is passed on for others alone",
    ]
    assert "expected within 45 ms" in str(Bound(50.0, state="met", reach_ms=45.0))


def test_a_callback_that_would_have_to_be_awaited_is_refused() -> None:
    async def later(_: Bound) -> None: ...

    with pytest.raises(SubscriptionError, match="not awaited"):
        Wishes(50.0, None, later).check(may_be_kept=False)


@on_loop
async def test_a_kept_bound_is_no_tighter_than_its_principal_may_ask_for_by_now(tmp_path: Path) -> None:
    token = new_token()
    principal = f"""data = "{tmp_path / "data"}"
[[principal]]
name = "desk"
token_hash = "{hash_token(token)}"
publish = "TRUE"
subscribe = "TRUE"
"""
    for least, expected in (("", 5.0), ("delay_ms_min = 50\n", 50.0)):
        async with running(principal + least, tmp_path) as node, siftcast.connect(url_of(node), token=token) as bus:
            wanted = {} if least else {"delay_ms_max": 5.0}
            stream = await bus.subscribe("x >= 0", durable="d", **wanted).ready()
            assert (stream.bound and stream.bound.delay_ms_max) == expected
            stream.close()
