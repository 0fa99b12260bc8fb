"""A configuration that is read again: all or nothing, at once for who is connected, without loss."""

import asyncio
import io
import os
import signal
import ssl
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast import Event, EventStream
from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.errors import (
    ConfigurationError,
    Forbidden,
    LiveError,
    Refused,
    Unauthorised,
)
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.configuration import load_configuration, parse_configuration
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.reloading import merged, read_settled
from siftcast.runtimes.live.node.rights import hash_token, new_token
from siftcast.runtimes.live.node.validity import expiry_of
from siftcast.runtimes.live.wire.frames import VERSION, Hello, Subscribe, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.certificates import make_certificates
from tests.live.nodes import running, running_from, url_of, write_configuration
from tests.live.test_commands import Served, finish
from tests.live.test_expiring_tokens import final_error
from tests.live.test_rights import principal
from tests.live.test_tls import free_ports, two_nodes

DESK, OTHER, ADMIN = new_token(), new_token(), new_token()
ALL = 'publish = "TRUE"\nsubscribe = "TRUE"'
CHIEF = principal("admin", ADMIN, "operate = true\nsee = true\n" + ALL)
BOTH = CHIEF + principal("desk", DESK, ALL)


def narrowed(subscribe: str = "n < 10", publish: str = "n < 10") -> str:
    return CHIEF + principal("desk", DESK, f'publish = "{publish}"\nsubscribe = "{subscribe}"')


async def reloaded(bus: Bus, path: Path, text: str) -> dict[str, object]:
    """Has the node of a bus read another configuration; what it answers."""
    write_configuration(path, text)
    return dict(await operating.reload(bus))


@on_loop
async def test_publishes_and_subscriptions_are_judged_by_the_new_rights_and_what_lies_beyond_ends(
    tmp_path: Path,
) -> None:
    path = tmp_path / "node.toml"
    async with (
        running_from(path, BOTH) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as desk,
        desk.subscribe("n < 100") as wide,
        desk.subscribe("n < 5") as narrow,
    ):
        found = await reloaded(admin, path, narrowed())
        assert found == {"changed": ["principal"], "beyond": [], "put_out": 0, "narrowed": 1}
        await admin.publish({"n": 3})
        with pytest.raises(Forbidden, match="may subscribe only within: n < 10"):
            await anext(wide)
        assert (await anext(narrow))["n"] == 3
        with pytest.raises(Forbidden, match="may publish only what matches: n < 10"):
            await desk.publish({"n": 50})
        with pytest.raises(Forbidden):
            await desk.subscribe("n < 100").ready()
        await reloaded(admin, path, BOTH)
        async with desk.subscribe("n < 100") as again:
            await desk.publish({"n": 50})
            assert (await anext(again))["n"] == 50


@on_loop
async def test_who_is_gone_or_revoked_is_put_out_at_once_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    text = BOTH + principal("other", OTHER, ALL)
    async with (
        running_from(path, text) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as desk,
        siftcast.connect(url_of(node), token=OTHER) as other,
        desk.subscribe("n > 0") as lost,
        admin.subscribe("n > 0") as kept,
    ):
        found = await reloaded(admin, path, CHIEF + principal("other", OTHER, "revoked = true\n" + ALL))
        assert found["put_out"] == 2
        assert {session.guard.rights.principal for session in node.life.sessions.open} == {"admin"}
        with pytest.raises(Unauthorised, match="its token is not known here"):
            await anext(lost)
        assert "its token was revoked" in str(await final_error(other))
        assert isinstance(await final_error(desk), Unauthorised)
        await admin.publish({"n": 1})
        assert (await anext(kept))["n"] == 1


@on_loop
async def test_a_token_is_exchanged_without_a_gap(tmp_path: Path) -> None:
    path, further = tmp_path / "node.toml", f'[[principal.tokens]]\nhash = "{hash_token(OTHER)}"\n'
    async with (
        running_from(path, BOTH) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as old,
    ):
        await reloaded(admin, path, BOTH + further)
        await old.publish({"n": 1})
        async with siftcast.connect(url_of(node), token=OTHER) as new:
            text = BOTH.replace(f'token_hash = "{hash_token(DESK)}"', "") + further
            assert (await reloaded(admin, path, text))["put_out"] == 1
            await new.publish({"n": 2})
            assert isinstance(await final_error(old), Unauthorised)


MISTAKES = {
    "half a file": ('[[principal]]\nname = "desk', 'name = "desk', "TOML"),
    "a filter that is none": (BOTH.replace('"TRUE"', '"price <"', 1), "price <", "TRUE"),
    "a key that is none": (BOTH + "[limits]\nconections_max = 1\n", "conections_max", "connections_max"),
    "no principal any more": ("", "", "start the node again"),
    "no certificate": (BOTH + '[tls]\ncertificate = "no.pem"\nkey = "no.key"\n', "no.pem", "relative to this file"),
    "no audit log": (BOTH + '[audit]\nfile = "node.toml/audit.jsonl"\n', "audit.jsonl", "that this node may write"),
}


@pytest.mark.parametrize(("text", "place", "remedy"), MISTAKES.values(), ids=MISTAKES)
@on_loop
async def test_a_mistake_changes_nothing_and_is_answered_as_at_the_start(
    tmp_path: Path, text: str, place: str, remedy: str
) -> None:
    path, said = tmp_path / "node.toml", io.StringIO()
    certificates = make_certificates(tmp_path / "tls")
    async with (
        running_from(path, BOTH + certificates.table, said=said) as node,
        siftcast.connect(node.url, token=ADMIN, tls=certificates.authority) as admin,
        siftcast.connect(node.url, token=DESK, tls=certificates.authority) as desk,
        desk.subscribe("n < 100") as stream,
    ):
        with pytest.raises(LiveError) as caught:
            await reloaded(admin, path, text)
        lines = path.read_text().splitlines()
        line = next((number for number, each in enumerate(lines, 1) if place and place in each), None)
        assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
        assert remedy in str(caught.value)
        await desk.publish({"n": 50})
        assert (await anext(stream))["n"] == 50
        async with siftcast.connect(node.url, token=DESK, tls=certificates.authority):
            assert (await reloaded(admin, path, BOTH + certificates.table))["changed"] == []
    assert '"configuration not read again"' in said.getvalue()


@on_loop
async def test_who_may_not_operate_cannot_have_it_read_again(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    async with running_from(path, BOTH) as node, siftcast.connect(url_of(node), token=DESK) as desk:
        with pytest.raises(Forbidden, match="operate = true"):
            await operating.reload(desk)
    async with running(BOTH) as node, siftcast.connect(url_of(node), token=ADMIN) as admin:
        with pytest.raises(Refused, match="without a configuration file"):
            await operating.reload(admin)


@on_loop
async def test_limits_that_can_change_do_and_the_rest_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    more = (
        "[limits]\nsubscriptions_max = 1\nfilter_terms_max = 1\nkept_bytes_max = 7\nevent_bytes_max = 999\n"
        "[heartbeat]\ninterval_ms = 99\n[overlay]\nnetwork = 'another'\n[tracing]\nrows_max = 1\n"
    )
    async with running_from(path, BOTH) as node, siftcast.connect(url_of(node), token=ADMIN) as admin:
        first = admin.subscribe("n > 0")
        await first.ready()
        found = await reloaded(admin, path, BOTH + more)
        assert found["changed"] == ["limits.filter_terms_max", "limits.subscriptions_max"]
        assert found["beyond"] == [
            "limits.event_bytes_max", "limits.kept_bytes_max", "heartbeat.interval_ms", "overlay.network",
            "tracing.rows_max",
        ]  # fmt: skip
        with pytest.raises(SiftcastError, match=r"subscriptions_max in \[limits\]"):
            await admin.subscribe("n > 1").ready()
        first.close()
        with pytest.raises(SiftcastError, match=r"filter_terms_max in \[limits\]"):
            await admin.subscribe("n > 1 AND n < 5").ready()
        await admin.publish({"text": "x" * 5_000})
        again = await reloaded(admin, path, BOTH + more)
        assert again["changed"] == []
        assert again["beyond"] == found["beyond"], "it is said each time"


@on_loop
async def test_what_a_durable_subscription_holds_beyond_the_rights_is_kept_and_shown_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    data = 'data = "data"\n'
    async with (
        running_from(path, data + BOTH) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as desk,
    ):
        async with desk.subscribe("n < 100", durable="all", buffer=1) as stream:
            await reloaded(admin, path, data + narrowed())
            for n in (50, 3, 60, 4):
                await admin.publish(Event({"n": n}, f"e-{n}"), durable=True)
            with pytest.raises(Forbidden, match="may subscribe only within"):
                await anext(stream)
        with pytest.raises(Forbidden):
            await desk.subscribe("n < 100", durable="all").ready()
        rows = {row["durable"]: row["waiting"] for row in node.describe()["subscriptions"]}
        assert rows == {"desk/all": 4}
        await reloaded(admin, path, data + BOTH)
        async with desk.subscribe("n < 100", durable="all") as again:
            assert [(await anext(again))["n"] for _ in range(4)] == [50, 3, 60, 4]


@on_loop
async def test_whoever_comes_back_with_less_is_shown_that_alone_and_told_how_much_was_passed_over(
    tmp_path: Path,
) -> None:
    path, data, count = tmp_path / "node.toml", 'data = "data"\n', 3_000
    async with (
        running_from(path, data + BOTH) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as desk,
    ):
        async with desk.subscribe("n < 100", durable="all"):
            pass
        await admin.publish_many(({"n": 50} for _ in range(count)), durable=True)
        await admin.publish({"n": 3}, durable=True)
        await reloaded(admin, path, data + narrowed())
        async with desk.subscribe("n < 10", durable="all") as stream:
            event = await anext(stream)
            assert event["n"] == 3
            assert stream.expired == count
            event.ack()
        await reloaded(admin, path, data + BOTH)
        async with desk.subscribe("n < 100", durable="all", start=1) as replayed:
            assert (await anext(replayed))["n"] == 50


@on_loop
async def test_a_client_that_does_not_read_is_not_left_with_a_queue_beyond_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    async with running_from(path, BOTH) as node, siftcast.connect(url_of(node), token=ADMIN) as admin:
        reader, writer = await asyncio.open_connection(*node.address.split(":"), limit=1_024)
        writer.write(encode_frame(Hello(VERSION, "client", "slow", DESK)))
        writer.write(encode_frame(Subscribe(1, 1, "n < 100")))
        await until(lambda: node.describe()["subscriptions"])
        (slow,) = (each for each in node.life.sessions.open if each.name == "slow")
        while not slow.connection.queued_bytes > 100_000:
            await admin.publish({"n": 50, "text": "x" * 20_000})
        await reloaded(admin, path, narrowed())
        assert slow.connection.queued_bytes == 0
        assert slow.connection.closing
        writer.transport.abort()
        assert reader is not None


async def read_to_end(stream: EventStream) -> list[str]:
    """The ids of what comes until the node takes a subscription away."""
    found = []
    try:
        async for event in stream:
            found.append(event.id)
    except Forbidden:
        return found
    raise AssertionError("the subscription was not ended")


@on_loop
async def test_no_event_beyond_the_rights_comes_after_the_answer_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    """Rights go to and fro under load; each durable publish that was answered is there exactly once."""
    path, data = tmp_path / "node.toml", 'data = "data"\n'
    async with (
        running_from(path, data + BOTH) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=ADMIN, name="reader") as reader,
        siftcast.connect(url_of(node), token=DESK) as desk,
        reader.subscribe("n >= 0", durable="all") as everything,
    ):
        taken: list[str] = []
        seen: list[str] = []
        refused = 0
        is_over = False

        async def publish() -> None:
            nonlocal refused
            number = 0
            while not is_over:
                number += 1
                n = 50 if number % 2 else 5
                try:
                    taken.append(await desk.publish(Event({"n": n}, f"e-{number}"), durable=True))
                except Forbidden:
                    refused += 1

        publishing = asyncio.create_task(publish())
        for _ in range(4):
            async with desk.subscribe("n < 100") as wide:
                await anext(wide)
                await reloaded(admin, path, data + narrowed())
                await admin.publish(Event({"n": 50}, "too late"))
                seen += await read_to_end(wide)
            before = refused
            await until(lambda: refused > before)  # noqa: B023  # it is awaited within the round
            await reloaded(admin, path, data + BOTH)
            done = len(taken)
            await until(lambda: len(taken) > done + 20)  # noqa: B023
        is_over = True
        await publishing
        assert seen
        assert "too late" not in seen
        kept: list[str] = []
        while len(kept) < len(taken):
            event = await anext(everything)
            event.ack()
            kept += [event.id] if event.id != "too late" else []
        assert kept == taken


@on_loop
async def test_a_client_hears_that_its_token_is_good_for_longer(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    ends = [CHIEF + principal("desk", DESK, f"expires = {year}-01-01T00:00:00Z") for year in (2101, 2102)]
    async with (
        running_from(path, ends[0]) as node,
        siftcast.connect(url_of(node), token=ADMIN) as admin,
        siftcast.connect(url_of(node), token=DESK) as desk,
    ):
        for text, year in ((ends[1], 2102), (ends[0], 2101)):
            await reloaded(admin, path, text)
            await until(lambda: desk.token_expires is not None and desk.token_expires.year == year)  # noqa: B023
        await reloaded(admin, path, CHIEF + principal("desk", DESK))
        await until(lambda: desk.token_expires is None)
        assert len(node.life.sessions.open) == 2, "it was told, and not put out"


# -- certificates ------------------------------------------------------------------------------------


@on_loop
async def test_a_new_certificate_is_shown_to_who_connects_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    first, second = make_certificates(tmp_path / "one"), make_certificates(tmp_path / "two")
    async with (
        running_from(path, CHIEF + first.table) as node,
        siftcast.connect(node.url, token=ADMIN, tls=first.authority) as admin,
    ):
        await reloaded(admin, path, CHIEF + second.table)
        await admin.publish({"n": 1})
        async with siftcast.connect(node.url, token=ADMIN, tls=second.authority) as other:
            await other.publish({"n": 1})
            with pytest.raises(LiveError, match="did not prove"):
                await siftcast.connect(node.url, token=ADMIN, tls=first.authority).__aenter__()
            second.certificate.write_bytes(first.certificate.read_bytes())
            with pytest.raises(LiveError, match="cannot be used with its key"):
                await operating.reload(other)
            second.key.write_bytes(first.key.read_bytes())
            assert (await operating.reload(other))["changed"] == []
        async with siftcast.connect(node.url, token=ADMIN, tls=first.authority):
            pass


@on_loop
async def test_nodes_meet_again_with_new_certificates_and_tokens(tmp_path: Path) -> None:
    """Both ends of a link get another authority and another token, so it ends and is made again."""
    old, new = make_certificates(tmp_path / "old"), make_certificates(tmp_path / "new")
    a, b, again, client = (new_token() for _ in range(4))
    tokens = {"a": a, "b": b, "a as known": a, "b as known": b, "all": client}
    paths = [tmp_path / "a.toml", tmp_path / "b.toml"]
    async with AsyncExitStack() as stack:
        nodes = []
        for path, text in zip(paths, two_nodes(old, free_ports(), tokens, tmp_path), strict=True):
            path.write_text(text)
            node = Node(load_configuration(path), log=make_log("json", "error"))
            await node.start()
            stack.push_async_callback(node.stop)
            nodes.append(node)
        await until(lambda: all(node.life.peers.present for node in nodes))
        (tmp_path / "b.token").write_text(again)
        for path in paths:
            text = path.read_text().replace(str(old.certificate.parent), str(new.certificate.parent))
            path.write_text(text.replace(hash_token(b), hash_token(again)))
        for node in nodes:
            await node.reload()
        await until(lambda: all(node.life.peers.missing == [] for node in nodes) and nodes[0].life.peers.present)
        for node in nodes:
            async with siftcast.connect(node.url, token=client, tls=new.authority) as bus:
                assert all(row["reach"] in ("this node", "connected") for row in await operating.members_of(bus))


@on_loop
async def test_a_certificate_that_expires_soon_is_warned_of(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)  # for two days
    said = io.StringIO()
    async with running(certificates.table, said=said):
        await until(lambda: "certificate expires soon" in said.getvalue())
    assert '"left": "48 hours"' in said.getvalue()


def test_the_end_of_a_certificate_is_what_openssl_says(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    for path in (certificates.certificate, certificates.authority):
        command = ["openssl", "x509", "-in", str(path), "-noout", "-enddate"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().partition("=")[2]
        assert expiry_of(path).timestamp() == ssl.cert_time_to_seconds(said)


@given(st.binary(max_size=200), st.integers(0, 400))
def test_bytes_that_are_no_certificate_are_refused_in_words(noise: bytes, at: int) -> None:
    from siftcast.runtimes.live.node import validity

    data = (bytes([0x30, 0x82]) + noise)[:at]
    try:
        _, content, rest = validity._read(data)
    except ValueError:
        assert len(data) < 4 or int.from_bytes(data[2:4], "big") > len(data) - 4
    else:
        assert data.endswith(content + rest)


# -- files that are written meanwhile ----------------------------------------------------------------


@given(st.integers(0, len(BOTH)))
def test_whatever_part_of_a_file_was_written_opens_the_node_to_nobody(length: int) -> None:
    """A part is refused, or has principals that the whole has, each with no more rights."""
    whole = {spec.name: spec for spec in parse_configuration(BOTH).configuration.principal}
    try:
        part = parse_configuration(BOTH[:length])
    except ConfigurationError:
        return
    file, _, _ = merged(parse_configuration(BOTH), part)
    for spec in file.configuration.principal:
        assert spec.token_hash in (None, whole[spec.name].token_hash)
        assert spec.publish in (None, whole[spec.name].publish)
        assert not spec.operate or whole[spec.name].operate


@on_loop
async def test_a_file_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    lines = BOTH.splitlines(keepends=True)
    path.write_text("")

    async def write() -> None:
        for line in lines:
            with path.open("a") as file:
                file.write(line)
            await asyncio.sleep(0.005)

    writing = asyncio.create_task(write())
    await asyncio.sleep(0)
    file = await read_settled(str(path))
    await writing
    assert file.text == BOTH


def test_a_storm_of_signals_is_survived_and_the_last_file_counts(tmp_path: Path) -> None:
    node = Served(tmp_path, BOTH)
    path = tmp_path / "node.toml"
    try:
        text = path.read_text()
        for number in range(300):
            if number == 150:
                path.with_suffix(".new").write_text(text.replace(hash_token(DESK), hash_token(OTHER)))
                path.with_suffix(".new").replace(path)
            os.kill(node.process.pid, signal.SIGHUP)

        async def look() -> None:
            async with siftcast.connect(node.url, token=ADMIN) as admin:
                await operating.reload(admin)
            async with siftcast.connect(node.url, token=OTHER) as other:
                await other.publish({"n": 1})
            with pytest.raises(Unauthorised):
                await siftcast.connect(node.url, token=DESK).__aenter__()

        asyncio.run(look())
        assert node.process.poll() is None
    finally:
        _, error = finish(node.process, signal.SIGTERM)
    assert error.count("configuration read again") < 300
