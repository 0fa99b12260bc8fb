"""Logins that fail are limited by address and in all; whoever waits learns nothing, and others notice nothing."""

import asyncio
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast.runtimes.live.errors import TooManyFailedLogins, Unauthorised
from siftcast.runtimes.live.node.failed_logins import ALL_FACTOR, SOURCES_MAX, FailedLogins, source_of
from siftcast.runtimes.live.node.rights import new_token
from siftcast.runtimes.live.wire.frames import VERSION, Failure, Hello, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of
from tests.live.test_rights import principal
from tests.live.wire import read_frame

DESK = new_token()
TEXT = "[limits]\nfailed_logins_per_minute = 3\n" + principal("desk", DESK, 'publish = "TRUE"\nsubscribe = "TRUE"')


async def login(address: str, token: str, source: str = "127.0.0.1") -> object:
    """The first frame that a caller is answered with."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
    writer.write(encode_frame(Hello(VERSION, "client", "", token)))
    answer = await read_frame(reader)
    writer.close()
    return answer


def code_of(answer: object) -> str:
    return answer.code if isinstance(answer, Failure) else type(answer).__name__


@on_loop
async def test_after_so_many_failures_a_right_token_is_answered_like_a_wrong_one_and_others_come_in() -> None:
    said = io.StringIO()
    async with running(TEXT, said=said) as node, siftcast.connect(url_of(node), token=DESK) as inside:
        codes = [code_of(await login(node.address, new_token())) for _ in range(3)]
        assert codes == ["unauthorised"] * 3
        right, wrong = await login(node.address, DESK), await login(node.address, new_token())
        assert isinstance(right, Failure)
        assert isinstance(wrong, Failure)
        assert right.code == wrong.code == "too-many-failed-logins"
        assert right.message == wrong.message
        assert "failed_logins_per_minute = 3" in right.message
        assert code_of(await login(node.address, DESK, "127.0.0.2")) == "Welcome"
        await inside.publish({"n": 1})
    assert said.getvalue().count('"logins wait"') >= 1
    assert DESK not in said.getvalue()


@on_loop
async def test_a_client_with_a_right_token_waits_and_is_let_in() -> None:
    async with running(TEXT) as node:
        for _ in range(3):
            await login(node.address, "guess")
        async with siftcast.connect(url_of(node), token=DESK, timeout_s=30) as bus:
            await bus.publish({"n": 1})
        assert node.tally.published == 1


@on_loop
async def test_an_address_without_a_network_counts_as_one(tmp_path: Path) -> None:
    async with siftcast.testing.in_process(TEXT, token=DESK) as bus:
        for _ in range(3):
            with pytest.raises(Unauthorised):
                await bus.connect(token="guess").__aenter__()
        await bus.publish({"n": 1})


def tried(failed: FailedLogins, address: str, now_s: float) -> bool:
    """Whether a login was looked at, and failed."""
    try:
        failed.check(address, now_s)
    except TooManyFailedLogins:
        return False
    failed.failed(address, now_s)
    return True


def test_waits_grow_with_each_failure_and_begin_again_after_a_quiet_time() -> None:
    failed, now_s, waits = FailedLogins(5), 0.0, []
    assert [tried(failed, "a:1", now_s) for _ in range(6)] == [True] * 5 + [False]
    for _ in range(6):
        begun = now_s
        while not tried(failed, "a:1", now_s):
            now_s += 0.5
        waits.append(now_s - begun)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    now_s += 64 + 60
    assert [tried(failed, "a:1", now_s) for _ in range(5)] == [True] * 5
    assert not tried(failed, "a:1", now_s)
    assert tried(failed, "a:1", now_s + 1.0)


def test_what_is_tried_while_one_waits_does_not_make_it_longer() -> None:
    failed = FailedLogins(1)
    assert tried(failed, "a:1", 0.0)
    for _ in range(1_000):
        assert not tried(failed, "a:1", 0.9)
    failed.check("a:1", 1.0)


@given(st.integers(1, 100), st.lists(st.floats(0, 20), max_size=300))
def test_no_address_fails_more_often_than_it_may(per_minute: int, pauses: list[float]) -> None:
    failed, now_s, seen = FailedLogins(per_minute), 0.0, []
    for pause in pauses:
        now_s += pause
        if tried(failed, "a:1", now_s):
            seen.append(now_s)
    for first in seen:
        assert sum(first <= each < first + 60 for each in seen) <= 2 * per_minute


def test_from_everywhere_too_many_fail_and_only_those_who_come_here_anyway_are_looked_at() -> None:
    failed = FailedLogins(2)
    failed.admitted("10.0.0.1:5")
    for number in range(2 * ALL_FACTOR):
        assert tried(failed, f"10.1.{number}.1:1", 0.0)
    failed.check("10.0.0.1:6", 0.5)
    with pytest.raises(TooManyFailedLogins, match="from everywhere"):
        failed.check("10.0.0.2:6", 0.5)
    failed.check("10.0.0.2:6", 1.0)


def test_what_is_remembered_of_a_million_addresses_is_bounded() -> None:
    failed = FailedLogins(60)
    tracemalloc.start()
    try:
        for number in range(30_000):
            address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:1"
            failed.failed(address, number / 1_000)
            failed.admitted(address)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(failed) == 2 * SOURCES_MAX
    assert held < 10_000_000


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.0.0.7:51034", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6:7007", "2001:db8:1:2::/64"),
        ("fe80::1%eth0:7007", "fe80::/64"),
        ("::ffff:10.0.0.7:80", "10.0.0.7"),
        ("in memory", "in memory"),
        ("", ""),
    ],
)
def test_an_address_counts_as_its_host_or_as_its_network(address: str, source: str) -> None:
    assert source_of(address) == source


@on_loop
async def test_many_at_once_are_refused_and_the_node_goes_on() -> None:
    async with running(TEXT) as node, siftcast.connect(url_of(node), token=DESK) as bus:
        answers = await asyncio.gather(*(login(node.address, new_token()) for _ in range(100)))
        codes = [code_of(each) for each in answers]
        assert codes.count("unauthorised") == 3
        assert codes.count("too-many-failed-logins") == 97
        async with bus.subscribe("n = 1") as stream:
            await bus.publish({"n": 1})
            assert (await anext(stream))["n"] == 1
        await until(lambda: len(node.life.sessions.open) == 1)
