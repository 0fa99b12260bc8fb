"""Tokens that are good for a time: refused afterwards, ended in time, warned of before, exchanged without a gap."""

import asyncio
import io
import logging
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast.runtimes.live.client.token_notice import TokenNotice
from siftcast.runtimes.live.countdown import WARNINGS_S, Countdown, next_warning_s
from siftcast.runtimes.live.errors import ConfigurationError, ConnectionLost, LiveError, TokenExpired, Unauthorised
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.access import Access, Caller
from siftcast.runtimes.live.node.audit import Audit
from siftcast.runtimes.live.node.configuration import load_configuration, parse_configuration
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.principals import Principals
from siftcast.runtimes.live.node.rights import hash_token, new_token
from siftcast.runtimes.live.wire.connection import Connection, Outbox
from siftcast.runtimes.live.wire.frames import VERSION, Failure, Hello
from tests.live.asynchronous import on_loop, until
from tests.live.certificates import make_certificates
from tests.live.nodes import running, running_from, url_of, write_configuration
from tests.live.test_rights import principal
from tests.live.test_tls import free_ports, two_nodes
from tests.live.wire import last_frame

DESK, NEXT = new_token(), new_token()
ALL = 'publish = "TRUE"\nsubscribe = "TRUE"'
WEEK_S, DAY_S, HOUR_S = WARNINGS_S


def toml_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def in_seconds(seconds: float) -> str:
    return f"expires = {toml_time(datetime.now(UTC) + timedelta(seconds=seconds))}\n"


async def final_error(bus: siftcast.Bus) -> LiveError:
    """What a bus ends with for good; whatever is asked while its connection is going is lost before that is known."""
    while True:
        try:
            await bus.publish({"n": 1})
        except ConnectionLost:
            await asyncio.sleep(0.002)
        except LiveError as error:
            return error
        else:
            raise AssertionError("a publish was taken")


@on_loop
async def test_a_session_ends_when_its_token_expires_and_the_client_does_not_come_back(tmp_path: Path) -> None:
    said, path = io.StringIO(), tmp_path / "node.toml"
    async with running_from(path, principal("desk", DESK, ALL), said=said) as node:
        async with siftcast.connect(url_of(node), token=DESK) as bus, bus.subscribe("n > 0") as stream:
            write_configuration(path, principal("desk", DESK, in_seconds(1.5) + ALL))
            await node.reload()
            with pytest.raises(TokenExpired, match="has expired"):
                await anext(stream)
            assert isinstance(await final_error(bus), TokenExpired)
        with pytest.raises(TokenExpired, match="not let in: its token has expired"):
            await siftcast.connect(url_of(node), token=DESK).__aenter__()
        assert not node.life.sessions.open
    assert '"put out"' in said.getvalue()
    assert "token has expired" in said.getvalue()
    assert DESK not in said.getvalue()


@on_loop
async def test_a_session_that_is_open_for_a_week_is_ended_in_time() -> None:
    """The calendar is an argument here; what the door does with it is what it does in a node."""
    now = [1_000_000.0]
    end = datetime.fromtimestamp(now[0] + WEEK_S, UTC)
    said = io.StringIO()
    log = make_log("json", stream=said)
    file = parse_configuration(principal("desk", DESK, f"expires = {toml_time(end)}"))
    access = Access(Principals(file), 60, log, Audit(None, None, "node", log), clock=lambda: now[0])
    caller = Caller.of(Hello(VERSION, "client", "quotes", DESK), "10.0.0.7:1")
    credential = access.admit(caller)
    assert access.expires_in_ms(credential) == WEEK_S * 1_000

    class Handler:
        name = ""

        def connection_closed(self, reason: str) -> None:
            """Nobody looks."""

    connection = Connection(Outbox(asyncio.get_running_loop()), lambda _: Handler())  # type: ignore[arg-type,return-value]
    access.entered(connection, caller, credential)
    warnings = 0
    while now[0] < end.timestamp() - 60:
        access.look()
        warnings = said.getvalue().count("token expires soon")
        assert not connection.closing
        now[0] += 50
    assert warnings == 3, "a week, a day and an hour before"
    now[0] = end.timestamp()
    access.look()
    assert connection.closing
    answer = last_frame(b"".join(connection.pieces))
    assert isinstance(answer, Failure)
    assert answer.code == "token-expired"
    with pytest.raises(TokenExpired):
        access.admit(caller)


@on_loop
async def test_a_client_is_warned_before_its_token_expires(caplog: pytest.LogCaptureFixture) -> None:
    async with running(principal("desk", DESK, in_seconds(DAY_S / 2) + ALL)) as node:
        with caplog.at_level(logging.WARNING, "siftcast"):
            async with siftcast.connect(url_of(node), token=DESK) as bus:
                await until(lambda: "expires in 12 hours" in caplog.text)
                assert bus.token_expires is not None
                for session in tuple(node.life.sessions.open):
                    session.connection.abort("a test")
                await until(lambda: node.tally.sessions == 2)
                await bus.publish({"n": 1})
        assert caplog.text.count("expires in 12 hours") == 1, "once, however often it connects"
        assert DESK not in caplog.text


@on_loop
async def test_a_client_is_not_warned_of_a_token_that_stays_good(caplog: pytest.LogCaptureFixture) -> None:
    text = principal("desk", DESK, in_seconds(10 * DAY_S) + ALL) + principal("other", NEXT, ALL)
    async with running(text) as node:
        for token in (DESK, NEXT):
            async with siftcast.connect(url_of(node), token=token) as bus:
                await bus.publish({"n": 1})
                assert (bus.token_expires is None) == (token == NEXT)
    assert "expires" not in caplog.text


@on_loop
async def test_two_tokens_of_one_principal_are_good_until_one_expires(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    text = f'data = "data"\n{principal("desk", DESK, ALL)}[[principal.tokens]]\nhash = "{hash_token(NEXT)}"\n'
    async with (
        running_from(path, text) as node,
        siftcast.connect(url_of(node), token=DESK) as old,
        siftcast.connect(url_of(node), token=NEXT) as new,
    ):
        await new.subscribe("n > 0", durable="shared").ready()
        async with old.subscribe("n > 0", durable="shared") as stream:
            await new.publish({"n": 1}, durable=True)
            assert (await anext(stream))["n"] == 1
            write_configuration(path, text + in_seconds(1))
            await node.reload()
            await until(lambda: len(node.life.sessions.open) == 1)
            assert isinstance(await final_error(new), TokenExpired)
            await old.publish({"n": 2})
            assert (await anext(stream))["n"] == 2


@on_loop
async def test_a_revoked_token_is_refused_although_it_has_not_expired() -> None:
    text = principal("desk", DESK, "revoked = true\n" + ALL)
    further = f'[[principal.tokens]]\nhash = "{hash_token(NEXT)}"\nrevoked = true\n'
    async with running(text + further + principal("other", new_token())) as node:
        for token in (DESK, NEXT):
            with pytest.raises(Unauthorised, match="its token was revoked"):
                await siftcast.connect(url_of(node), token=token).__aenter__()


@on_loop
async def test_the_link_of_a_node_ends_when_its_token_expires_and_stands_again_with_another(tmp_path: Path) -> None:
    """Node b calls node a, at which its token is not good for long."""
    a, b, client = new_token(), new_token(), new_token()
    tokens = {"a": a, "b": b, "a as known": a, "b as known": b, "all": client}
    said = io.StringIO()
    async with AsyncExitStack() as stack:
        nodes = []
        texts = two_nodes(make_certificates(tmp_path), free_ports(), tokens, tmp_path)
        for name, text in zip("ab", texts, strict=True):
            path = tmp_path / f"{name}.toml"
            path.write_text(text)
            nodes.append(Node(load_configuration(path), log=make_log("json", stream=said)))
            await nodes[-1].start()
            stack.push_async_callback(nodes[-1].stop)
        await until(lambda: all(node.life.peers.present for node in nodes))
        path, known = tmp_path / "a.toml", f'token_hash = "{hash_token(b)}"\n'
        path.write_text(texts[0].replace(known, known + in_seconds(1)))
        await nodes[0].reload()
        await until(lambda: '"put out"' in said.getvalue() and not any(node.life.peers.present for node in nodes))
        await until(lambda: "the node is not let in: its token has expired" in said.getvalue())
        path.write_text(texts[0])
        await nodes[0].reload()
        await until(lambda: all(node.life.peers.present for node in nodes))
    assert not any(token in said.getvalue() for token in tokens.values())


@pytest.mark.parametrize(
    ("end", "line"),
    [("2026-12-31T00:00:00", 4), ("2026-12-31", 4), ('"soon"', 4), ("12:00:00", 4)],
    ids=["no zone", "a day", "a text", "a time of day"],
)
def test_an_end_that_is_no_time_with_its_zone_is_told_with_line_and_remedy(end: str, line: int) -> None:
    with pytest.raises(ConfigurationError, match="is no time with its zone; write it as 2026") as caught:
        parse_configuration(principal("desk", DESK, f"expires = {end}"))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ('[[principal]]\nname = "desk"\n', 2, "siftcast token new desk"),
        (principal("desk", DESK) + '[[principal.tokens]]\nhash = "no"\n', 5, "64 hexadecimal digits"),
        (principal("desk", DESK) + f'[[principal.tokens]]\nhash = "{hash_token(DESK)}"\n', 5, "its own token"),
    ],
    ids=["none", "no hash", "twice"],
)
def test_a_mistake_about_further_tokens_is_told_with_line_and_remedy(text: str, line: int, remedy: str) -> None:
    file = parse_configuration(text.replace("\n\n", "\n"))
    with pytest.raises(ConfigurationError, match=remedy) as caught:
        Principals(file)
    assert caught.value.line == line


@given(st.lists(st.floats(0, 2 * WEEK_S), min_size=1, max_size=20))
def test_each_warning_is_given_once_however_often_one_looks(moments: list[float]) -> None:
    countdown, end_s = Countdown(), 2 * WEEK_S
    given_ = [countdown.is_due("a", end_s, now_s) for now_s in sorted(moments)]
    last = sum(end_s - max(moments) <= each for each in WARNINGS_S)
    assert sum(given_) <= last
    assert any(given_) == (last > 0)
    assert not countdown.is_due("a", end_s, max(moments))


def test_all_warnings_are_before_an_end_that_is_moved() -> None:
    countdown = Countdown()
    assert countdown.is_due("a", HOUR_S, 0.0)
    assert not countdown.is_due("a", HOUR_S, 1.0)
    assert countdown.is_due("a", DAY_S, 2.0)


def test_the_next_warning_is_the_nearest_that_is_still_to_come() -> None:
    assert next_warning_s(WEEK_S + 5) == 5
    assert next_warning_s(WEEK_S) == WEEK_S - DAY_S
    assert next_warning_s(HOUR_S) is None


@on_loop
async def test_an_end_that_no_calendar_has_is_none() -> None:
    notice = TokenNotice("here")
    for expires_in_ms in (1e300, float("inf"), float("nan")):
        notice.heard(expires_in_ms)
        assert notice.expires is None
    notice.heard(1e6)
    assert notice.expires is not None
    notice.heard(None)
    assert notice.expires is None
