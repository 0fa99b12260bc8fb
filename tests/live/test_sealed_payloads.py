"""Sealed payloads from publisher to subscriber, with somebody in between who may publish whatever they like."""

import asyncio
import logging
import pickle
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import siftcast
from siftcast import Event, EventError, KeyRing, QueuePolicy, SealError
from siftcast.interfaces.cli import main
from siftcast.overlays.wire_events import decode_event, encode_fields
from siftcast.runtimes.live.client.durable_inbox import REASON_KEPT
from siftcast.runtimes.live.client.opening import Trusted
from siftcast.security import Rings, UnopenedError
from siftcast.security.keeping import add_publisher, begin_group, issue, make_publisher, revoke, rotate
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import joined, running, url_of
from tests.unit.security.made_rings import ring_folders

SEALED = {"seal": "payload", "group": "desk"}
EVENT = Event({"symbol": "IBM", "price": 88.5}, source="desk-1", payload=b"a large buyer")


@pytest.fixture
def rings(tmp_path: Path) -> tuple[Path, Path, Path]:
    return ring_folders(tmp_path / "rings", time.time())


async def taken(stream: siftcast.EventStream, count: int) -> list[siftcast.ReceivedEvent]:
    found = []
    for _ in range(count):
        found.append(await anext(stream))
        found[-1].ack()
    return found


async def publish_last(bus: siftcast.Bus, feed: Path) -> None:
    """An event that everybody gets, and so has had all before it."""
    await bus.publish(Event({"price": 1}, "last"), keys=feed, **SEALED)


async def ids_until_last(stream: siftcast.EventStream) -> list[str]:
    found = []
    while not found or found[-1] != "last":
        found.append((await taken(stream, 1))[0].id)
    return found[:-1]


@on_loop
async def test_members_read_the_payload_and_others_see_that_it_is_sealed(rings) -> None:
    _, feed, member = rings
    async with (
        in_process() as bus,
        bus.subscribe("price > 80", keys=member) as inside,
        bus.subscribe("price > 80") as outside,
    ):
        id = await bus.publish(EVENT, keys=feed, **SEALED)
        (event,) = await taken(inside, 1)
        assert (event.payload, event.sealed_by, event.group) == (EVENT.payload, "feed", "desk")
        assert not event.is_sealed
        assert (event.id, event["price"], event.source) == (id, 88.5, "desk-1")
        (carried,) = await taken(outside, 1)
        assert (carried.sealed_by, carried.group, carried.is_sealed) == (None, None, True)
        assert EVENT.payload not in carried.encoded
        assert carried.attributes == event.attributes
        assert inside.unopened == {} == outside.unopened


@on_loop
async def test_a_bus_with_keys_seals_and_opens_with_them(tmp_path: Path, rings) -> None:
    _, feed, member = rings
    async with (
        running() as node,
        siftcast.connect(url_of(node), keys=feed) as publisher,
        siftcast.connect(url_of(node), keys=KeyRing.load(member)) as subscriber,
    ):
        stream = await subscriber.subscribe("number >= 0").ready()
        many = await subscriber.subscribe_many({"low": "number < 150", "even": "even = TRUE"}).ready()
        handled: list[bytes] = []
        subscriber.on("number >= 0")(lambda event: handled.append(event.payload))
        events = [Event({"number": n, "even": n % 2 == 0}, payload=b"%d" % n) for n in range(250)]
        await until(lambda: node.describe()["subscriptions"][-1:] and len(node.describe()["subscriptions"]) == 4)
        assert await publisher.publish_many(events, **SEALED) == 250
        assert [event.payload for event in await taken(stream, 250)] == [b"%d" % n for n in range(250)]
        found = {event.payload: event.matched for event in await taken(many, 200)}
        assert found[b"4"] == ("low", "even")
        assert found[b"200"] == ("even",)
        await until(lambda: len(handled) == 250)
        one_by_one = [event async for event in _each(events[:3])]
        assert await publisher.publish_many(_each(one_by_one), **SEALED) == 3
        assert [event.payload for event in await taken(stream, 3)] == [b"0", b"1", b"2"]


async def _each(events: list[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


@on_loop
async def test_what_cannot_be_sealed_is_refused_and_nothing_is_sent(rings) -> None:
    _, feed, member = rings
    async with in_process() as bus, bus.subscribe("TRUE") as stream:
        for words, how in (
            ("seal is 'payload'", {"seal": "all", "group": "desk", "keys": feed}),
            ("seal is 'payload'", {"seal": True, "group": "desk", "keys": feed}),
            ("add group='desk'", {"seal": "payload", "keys": feed}),
            ("with keys", {"seal": "payload", "group": "desk"}),
            ("no group 'dusk'", {"seal": "payload", "group": "dusk", "keys": feed}),
            ("no signing key", {"seal": "payload", "group": "desk", "keys": member}),
            ("add seal='payload'", {"group": "desk"}),
            ("add seal='payload'", {"keys": feed}),
            ("is empty", {"seal": "payload", "group": "desk", "keys": KeyRing()}),
        ):
            with pytest.raises(SealError, match=words):
                await bus.publish(EVENT, **how)
            with pytest.raises(SealError, match=words):
                await bus.publish_many([EVENT], **how)
        with pytest.raises(SealError, match="allow_plain is for"):
            bus.subscribe("TRUE", allow_plain=True)
        await bus.publish(Event({}, "last"))
        assert await ids_until_last(stream) == []


@on_loop
async def test_events_that_are_no_sealed_ones_of_members_are_counted_and_not_shown(
    rings, caplog: pytest.LogCaptureFixture
) -> None:
    """What a broker can do: strip the seal, alter, move, repeat, and say something itself."""
    _, feed, member = rings
    async with in_process() as bus, bus.subscribe("price > 0") as carried:
        stream = await bus.subscribe("price > 0", keys=member).ready()
        lenient = await bus.subscribe("price > 0", keys=member, allow_plain=True).ready()
        await bus.publish(EVENT, keys=feed, **SEALED)
        (seen,) = await taken(carried, 1)
        fields = (seen.id, seen.attributes, seen.source, seen.time, seen.payload)
        with caplog.at_level(logging.WARNING, "siftcast"):
            for place, other in ((0, "x"), (1, {"symbol": "SAP", "price": 88.5}), (2, "x"), (3, datetime.now(UTC))):
                moved = [*fields]
                moved[place] = other  # transplanted to another id, attributes, source or time
                await bus.publish(decode_event(encode_fields(*moved)))
            await bus.publish(Event(seen.attributes, seen.id, seen.source, payload=EVENT.payload))  # stripped
            await bus.publish(seen)  # as it came, once more
            await publish_last(bus, feed)
            assert len(await ids_until_last(stream)) == 1
            assert len(await ids_until_last(lenient)) == 2  # the stripped one as well, which says nothing of who
        assert stream.unopened == {"altered": 4, "plain": 1, "replayed": 1}
        assert lenient.unopened == {"altered": 4, "replayed": 1}
        assert "not opened" in caplog.text
        assert EVENT.payload.decode() not in caplog.text


@on_loop
async def test_events_that_overtake_each_other_are_all_shown_once(rings) -> None:
    _, feed, member = rings
    async with in_process() as bus, bus.subscribe("number >= 0") as carried:
        await bus.publish_many([Event({"number": n}, payload=b"%d" % n) for n in range(20)], keys=feed, **SEALED)
        events = await taken(carried, 20)
        stream = await bus.subscribe("number >= 0 OR price > 0", keys=member).ready()
        for event in (*reversed(events), *events):
            await bus.publish(event)
        await publish_last(bus, feed)
        assert await ids_until_last(stream) == [event.id for event in reversed(events)]
        assert stream.unopened == {"replayed": 20}


@on_loop
async def test_a_durable_subscription_acknowledges_what_it_cannot_open(tmp_path: Path, rings) -> None:
    _, feed, member = rings
    async with running('data = "kept"', tmp_path) as node, siftcast.connect(url_of(node), name="test") as bus:
        stream = await bus.subscribe("price > 0", durable="desk", keys=member).ready()
        for number in range(5):
            await bus.publish({"price": number + 1}, durable=True)
        await bus.publish(EVENT, keys=feed, durable=True, **SEALED)
        assert [event.payload for event in await taken(stream, 1)] == [EVENT.payload]
        assert stream.unopened == {"plain": 5}
        await until(lambda: node.describe()["state"]["durable"] == {"node/desk": 0})


@on_loop
async def test_a_refused_event_comes_again_and_is_no_replay_and_its_dead_letter_opens(tmp_path: Path, rings) -> None:
    _, feed, member = rings
    async with running('data = "kept"', tmp_path) as node, siftcast.connect(url_of(node), name="test") as bus:
        policy = QueuePolicy(refusals_max=3)
        stream = await bus.subscribe("price > 0", durable="desk", keys=member, policy=policy).ready()
        await bus.publish(EVENT, keys=feed, durable=True, **SEALED)
        for attempt in (1, 2, 3):
            event = await anext(stream)
            assert (event.attempt, event.payload) == (attempt, EVENT.payload)
            event.nack(f"cannot use {event.payload!r}")
        assert stream.unopened == {}
        await until(lambda: node.describe()["subscriptions"][0]["waiting"] == 0)
        (letter,) = await bus.dead_letters("desk", keys=member)
        assert (letter.event.payload, letter.event.sealed_by) == (EVENT.payload, "feed")
        assert letter.reason == REASON_KEPT
        (closed,) = await bus.dead_letters("desk")
        assert closed.event.is_sealed


@on_loop
async def test_what_waits_for_an_answer_may_come_at_another_position_until_it_is_acknowledged(rings) -> None:
    """A queue whose node leaves goes on at another one, which counts positions itself."""
    _, feed, member = rings
    async with in_process() as bus, bus.subscribe("price > 80") as outside:
        await bus.publish(EVENT, keys=feed, **SEALED)
        sealed = await anext(outside)
    opening = Trusted(member).opening(Rings(), is_durable=True)
    assert [opening.open(sealed, position).payload for position in (1, 1, 7)] == [EVENT.payload] * 3
    opening.settled(7)
    for position in (1, 7, 9):
        with pytest.raises(UnopenedError, match="was there before"):
            opening.open(sealed, position)


@on_loop
async def test_a_durable_subscription_is_resumed_and_replayed_with_keys(tmp_path: Path, rings) -> None:
    keeper, feed, member = rings
    async with running('data = "kept"', tmp_path) as node:
        async with siftcast.connect(url_of(node), keys=member) as bus:
            stream = await bus.subscribe("number >= 0", durable="desk").ready()
            async with siftcast.connect(url_of(node), name="feed", keys=feed) as publisher:
                events = [Event({"number": n}, payload=b"%d" % n) for n in range(6)]
                await publisher.publish_many(events, durable=True, **SEALED)
            assert [event.payload for event in await taken(stream, 2)] == [b"0", b"1"]
        for _ in range(3):  # epochs go by, and what waits still opens
            rotate(keeper, "desk", time.time(), grace_s=0)
        issue(keeper, "desk", member)
        async with siftcast.connect(url_of(node), keys=member) as bus:
            stream = await bus.subscribe("number >= 0", durable="desk").ready()
            assert [event.payload for event in await taken(stream, 4)] == [b"2", b"3", b"4", b"5"]
            stream.close()
            again = await bus.subscribe("number >= 0", durable="desk", since=datetime(2020, 1, 1)).ready()
            assert [event.payload for event in await taken(again, 6)] == [b"%d" % n for n in range(6)]
            assert again.unopened == {}


@on_loop
async def test_keys_rotate_and_publishers_are_revoked_while_everybody_stays_connected(tmp_path: Path) -> None:
    keeper, feed, second, member = (tmp_path / name for name in ("keeper", "feed", "second", "member"))
    begin_group(keeper, "desk", time.time())
    for folder in (feed, second):
        add_publisher(keeper, "desk", make_publisher(folder, folder.name))
    everybody = (member, feed, second)
    for folder in everybody:
        issue(keeper, "desk", folder)
    rings = {folder: KeyRing.load(folder) for folder in everybody}
    async with in_process() as bus:
        stream = await bus.subscribe("TRUE", keys=rings[member]).ready()

        async def publish(folder: Path) -> None:
            rings[folder]._looked_s = float("-inf")  # as after a few seconds
            await bus.publish(Event({}, payload=folder.name.encode()), keys=rings[folder], **SEALED)

        async def next_of(folder: Path) -> int:
            rings[member]._looked_s = float("-inf")
            await publish(folder)
            (event,) = await taken(stream, 1)
            assert (event.payload, event.sealed_by) == (folder.name.encode(), folder.name)
            return rings[folder].groups["desk"].newest.number

        assert await next_of(feed) == 1
        rotate(keeper, "desk", time.time())
        issue(keeper, "desk", member)
        assert await next_of(feed) == 1  # within the grace
        issue(keeper, "desk", feed)
        assert await next_of(feed) == 2
        revoke(keeper, "desk", "second", time.time(), grace_s=0)
        for folder in (member, feed):
            issue(keeper, "desk", folder)
        assert await next_of(feed) == 3
        await publish(second)  # it has not heard, and seals in epoch 1
        issue(keeper, "desk", second)
        with pytest.raises(SealError, match="is revoked"):
            await publish(second)
        assert await next_of(feed) == 3
        assert stream.unopened == {"stale-epoch": 1}


@on_loop
async def test_a_file_that_is_half_written_stops_nobody_who_is_connected(rings) -> None:
    _, feed, member = rings
    ring = KeyRing.load(member)
    async with in_process() as bus, bus.subscribe("TRUE", keys=ring) as stream:
        (member / "desk.group").write_bytes(b'{"format": 1')
        ring._looked_s = float("-inf")
        await bus.publish(EVENT, keys=feed, **SEALED)
        assert (await taken(stream, 1))[0].payload == EVENT.payload
        with pytest.raises(siftcast.KeyRingError, match="cut short"):
            bus.subscribe("TRUE", keys=member)


@on_loop
async def test_what_was_opened_is_not_published_in_the_clear_by_accident(rings) -> None:
    _, feed, _ = rings
    async with in_process() as bus, bus.subscribe("TRUE", keys=feed) as stream, bus.subscribe("TRUE") as outside:
        await bus.publish(EVENT, keys=feed, **SEALED)
        (event,) = await taken(stream, 1)
        with pytest.raises(EventError, match="not published in the clear"):
            await bus.publish(event)
        assert EVENT.payload not in pickle.dumps(event)
        await bus.publish(event, keys=feed, **SEALED)
        assert (await taken(stream, 1))[0].payload == EVENT.payload
        carried = await taken(outside, 2)
        assert all(each.is_sealed for each in carried)
        await bus.publish(carried[0])  # who cannot read it may hand it on
        nameless = Event(carried[0].attributes, payload=carried[0].payload)
        with pytest.raises(EventError, match="a sealed event without id"):
            await bus.publish(nameless)


@on_loop
async def test_a_folder_that_is_named_at_each_call_is_one_ring(rings) -> None:
    """Or each event would be the first of a run of its own, and files would be read for each."""
    _, feed, member = rings
    async with in_process() as bus, bus.subscribe("TRUE", keys=member) as stream:
        for _ in range(3):
            await bus.publish(EVENT, keys=feed, **SEALED)
            await bus.publish(EVENT, keys=str(feed), **SEALED)
        runs = {(event._opened.run, event._opened.number) for event in await taken(stream, 6)}
        assert len({run for run, _ in runs}) == 1
        assert sorted(number for _, number in runs) == [1, 2, 3, 4, 5, 6]


@on_loop
async def test_the_command_publishes_a_field_as_a_sealed_payload(tmp_path: Path, rings) -> None:
    _, feed, member = rings
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"price": 1, "note": "a text"}\n{"price": 2, "note": {"of": [1]}}\n{"price": 3, "note": null}\n')
    async with running() as node, siftcast.connect(url_of(node), keys=member) as bus:
        stream = await bus.subscribe("price > 0").ready()
        command = ["publish", str(rows), "--payload", "note", "--at", url_of(node), "--quiet"]
        sealed = [*command, "--seal", "payload", "--group", "desk", "--keys", str(feed)]
        assert await asyncio.to_thread(main, sealed) == 0
        found = await taken(stream, 3)
        assert [event.payload for event in found] == [b"a text", b'{"of":[1]}', b""]
        assert [dict(event) for event in found] == [{"price": 1}, {"price": 2}, {"price": 3}]
        plain = await bus.subscribe("price > 0", allow_plain=True).ready()
        assert await asyncio.to_thread(main, command) == 0
        assert [event.payload for event in await taken(plain, 3)] == [b"a text", b'{"of":[1]}', b""]


@on_loop
async def test_a_mistyped_payload_field_leaves_nothing_in_the_clear(
    tmp_path: Path, rings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, feed, _ = rings
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"price": 1, "note": "a text"}\n')
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("price > 0").ready()
        mistyped = ["publish", "--payload", "notes", "--at", url_of(node), "--rejected-to", str(tmp_path)]
        sealed = [*mistyped, "--seal", "payload", "--group", "desk", "--keys", str(feed)]
        assert await asyncio.to_thread(main, [*sealed, str(rows)]) == 1
        with rows.open() as lines:
            monkeypatch.setattr("sys.stdin", lines)
            assert await asyncio.to_thread(main, sealed) == 1
        await bus.publish({"price": 2})
        assert [dict(event) for event in await taken(stream, 1)] == [{"price": 2}]
    assert "no field 'notes'" in (tmp_path / "rows.jsonl.rejected").read_text()


@on_loop
async def test_dry_runs_and_traces_of_sealed_events_work_and_tell_no_payload(tmp_path: Path, rings) -> None:
    _, feed, member = rings
    async with (
        joined(tmp_path / "net", ("a", "b"), durable=False) as nodes,
        siftcast.connect(url_of(nodes["a"]), keys=feed) as bus,
        siftcast.connect(url_of(nodes["b"]), keys=member) as there,
    ):
        stream = await there.subscribe("value > 5").ready()
        event = Event({"value": 7}, "traced", payload=b"secret")
        while not (await bus.dry_run(event)).reached:
            await asyncio.sleep(0.01)
        await bus.publish(event, **SEALED)
        assert (await taken(stream, 1))[0].payload == b"secret"
        trace = await bus.trace("traced")
        assert "b" in str(trace)
        assert "secret" not in str(trace)


def test_the_bus_without_async_seals_and_opens(rings) -> None:
    _, feed, member = rings
    with siftcast.SyncBus(in_process()) as bus:
        stream = bus.subscribe("TRUE", keys=member)
        bus.publish({"plain": True})
        bus.publish(EVENT, keys=feed, **SEALED)
        assert bus.publish_many([EVENT, EVENT], keys=feed, **SEALED) == 2
        for _ in range(3):
            event = stream.take(20)
            assert (event.payload, event.sealed_by) == (EVENT.payload, "feed")
        assert stream.unopened == {"plain": 1}
