"""The network that tests put between two ends does what it says, and the same for the same seed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.live.asynchronous import on_loop, until
from tests.live.proxies import Proxy

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
SENT = bytes(range(256)) * 40


@asynccontextmanager
async def joined(seed: int = 0) -> AsyncIterator[tuple[Proxy, Callable[[], Awaitable[tuple[Ends, Ends]]]]]:
    """A proxy, and a way to make connections through it: both ends of each."""
    taken: asyncio.Queue[Ends] = asyncio.Queue()
    server = await asyncio.start_server(lambda *ends: taken.put_nowait(ends), "127.0.0.1", 0)
    writers = []
    async with Proxy(*server.sockets[0].getsockname(), seed=seed) as proxy:

        async def connect() -> tuple[Ends, Ends]:
            host, _, port = proxy.address.rpartition(":")
            near = await asyncio.open_connection(host, int(port))
            far = await taken.get()
            writers.extend((near[1], far[1]))
            return near, far

        yield proxy, connect
    for writer in writers:
        writer.transport.abort()
    server.close()


@on_loop
async def test_what_passes_arrives_as_it_was_both_ways_and_an_end_ends_both() -> None:
    async with joined() as (proxy, connect):
        (reader, writer), (far_reader, far_writer) = await connect()
        writer.write(SENT)
        assert await far_reader.readexactly(len(SENT)) == SENT
        far_writer.write(SENT)
        far_writer.close()
        assert await reader.read() == SENT
        await until(lambda: proxy.standing == 0)
        assert (proxy.carried, proxy.altered) == ({"up": len(SENT), "down": len(SENT)}, 0)


async def _corrupted(seed: int, pieces: int) -> bytes:
    async with joined(seed) as (proxy, connect):
        proxy.corrupt(0.01)
        (_, writer), (far_reader, _) = await connect()
        got, size = b"", len(SENT) // pieces
        for start in range(0, len(SENT), size):
            writer.write(SENT[start : start + size])
            got += await far_reader.readexactly(len(SENT[start : start + size]))
        changed = [one ^ other for one, other in zip(SENT, got, strict=True) if one != other]
        assert proxy.altered == len(changed) > 0
        assert all(bits.bit_count() == 1 for bits in changed)
        return got


@on_loop
async def test_which_bits_are_flipped_depends_on_the_seed_and_not_on_how_the_bytes_arrive() -> None:
    whole = await _corrupted(1, 1)
    assert await _corrupted(1, 37) == whole
    assert await _corrupted(2, 1) != whole


@on_loop
async def test_what_is_stalled_or_delayed_arrives_later_and_in_order() -> None:
    async with joined() as (proxy, connect):
        (_, writer), (far_reader, _) = await connect()
        proxy.stall()
        writer.write(SENT)
        await writer.drain()
        proxy.delay(0.01)
        writer.write(SENT[::-1])
        assert await far_reader.readexactly(2 * len(SENT)) == SENT + SENT[::-1]


@on_loop
async def test_each_way_is_delayed_by_a_time_of_its_own() -> None:
    async with joined() as (proxy, connect):
        proxy.delay(0.0, 3_600.0)
        (_, writer), (far_reader, far_writer) = await connect()
        far_writer.write(b"back")
        writer.write(b"there")
        assert await far_reader.readexactly(5) == b"there"
        assert proxy.carried["down"] == 0  # what was written first is still on its way


@on_loop
async def test_what_is_delayed_comes_no_sooner() -> None:
    async with joined() as (proxy, connect):
        proxy.delay(0.0, 0.05)
        (reader, _), (_, far_writer) = await connect()
        begun = asyncio.get_running_loop().time()
        far_writer.write(b"back")
        assert await reader.readexactly(4) == b"back"
        assert asyncio.get_running_loop().time() - begun >= 0.045  # timers may ring early


@on_loop
async def test_what_is_dropped_leaves_a_gap_on_its_way_only() -> None:
    async with joined() as (proxy, connect):
        (reader, writer), (far_reader, far_writer) = await connect()
        proxy.drop("up")
        writer.write(b"lost")
        far_writer.write(b"kept")
        assert await reader.readexactly(4) == b"kept"
        await until(lambda: proxy.dropped == 4)
        proxy.pass_on()
        writer.write(b"later")
        assert await far_reader.readexactly(5) == b"later"


@on_loop
async def test_a_cut_ends_what_stands_and_others_can_be_made() -> None:
    async with joined() as (proxy, connect):
        (reader, _), (far_reader, _) = await connect()
        await until(lambda: proxy.standing == 1)
        proxy.cut()
        for each in (reader, far_reader):
            with suppress(ConnectionResetError):
                assert await each.read() == b""
        (_, writer), (far_reader, _) = await connect()
        writer.write(b"again")
        assert await far_reader.readexactly(5) == b"again"
        assert proxy.connections == 2
