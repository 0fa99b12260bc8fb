"""A slow line brings everything, in order and later, and ends when either end does."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from siftcast.interfaces.cli import main
from siftcast.testing import SlowLine
from tests.live.asynchronous import on_loop, until


@asynccontextmanager
async def echo():
    """A server that sends back what it gets; its port, and the connections that stand."""
    standing = set()

    async def answer(reader, writer):
        standing.add(writer)
        while piece := await reader.read(1_000):
            writer.write(piece)
        standing.discard(writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], standing
    server.close()


@on_loop
async def test_what_goes_over_it_comes_back_whole_after_twice_its_delay():
    async with echo() as (port, _), SlowLine("127.0.0.1", port, 60) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        begun = asyncio.get_running_loop().time()
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        assert asyncio.get_running_loop().time() - begun >= 0.108  # timers may ring early
        sent = bytes(number % 251 for number in range(300_000))
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        writer.close()
        await until(lambda: line.connections == 0)


@on_loop
async def test_it_ends_for_one_end_when_the_other_is_gone():
    async with echo() as (port, standing), SlowLine("127.0.0.1", port, 5) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"x")
        await reader.readexactly(1)
        for each in tuple(standing):
            each.transport.abort()
        assert await reader.read() == b""
        await until(lambda: line.connections == 0)
        writer.close()


@on_loop
async def test_where_nobody_is_a_connection_is_closed():
    async with echo() as (port, _):
        pass
    async with SlowLine("127.0.0.1", port, 5) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ([], "name at least one line"),
        (["7020"], "LISTEN=TARGET"),
        (["7020=far"], "no port or host:port"),
        (["70200=7007"], "no port or host:port"),
        (["7020=7007", "--delay-ms", "-1"], "--delay-ms is 0"),
        (["7020=7007", "--delay-ms", "nan"], "--delay-ms is 0"),
        (["7020=7007@far"], "a delay is 0 to 60,000 ms, not 'far'"),
        (["7020=7007@-1"], "a delay is 0 to 60,000 ms, not '-1'"),
    ],
)
def test_a_mistake_is_named(tokens, said, capsys):
    assert main(["slow-line", *tokens]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
