"""A network between two ends that does to their bytes what networks do, by seed, and counts what it did.

A proxy listens on a port of its own and passes connections on to one address. What it does to their bytes holds for all
connections, those that stand and those to come, until something else is asked for:

    pass_on    everything arrives
    corrupt    a share of the bytes have one bit flipped
    delay      everything arrives, so much later, and in order; each way may take a time of its own
    stall      nothing arrives for now; what was held arrives as soon as something else is asked for
    drop       what goes one way vanishes; what comes after arrives with a gap before it
    reorder    now and then two pieces of the stream that follow each other change places

`cut` ends all connections that stand, in the middle of whatever they carry. Which bytes are altered depends on the
seed, on the count of the connection and on how far its stream has come, and not on how TCP cut the stream into pieces.
Where pieces change places depends on the seed too, but they are no longer than what TCP brought together: a proxy that
waited for more would hold back a stream whose sender waits for an answer.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Literal, Self

Way = Literal["up", "down"]
"""From whoever connected to the target, or back."""
Mode = Literal["pass", "corrupt", "delay", "stall", "drop", "reorder"]
_CHUNK_BYTES = 65_536
_PIECE_BYTES_MAX = 200
_CHUNKS_HELD = 64


class Proxy:
    """A network to one address; entered with `async with`."""

    def __init__(self, host: str, port: int, *, seed: int = 0) -> None:
        self.connections = 0
        """How many were made."""
        self.carried = {"up": 0, "down": 0}
        """Bytes that arrived, altered or not."""
        self.altered = 0
        """Bytes of which a bit was flipped."""
        self.dropped = 0
        """Bytes that vanished."""
        self.swapped = 0
        """Pairs of pieces that changed places and were not the same."""
        self.mode: Mode = "pass"
        self.share = 0.0
        self.delay_s = {"up": 0.0, "down": 0.0}
        self.way: Way = "up"
        self._target = host, port
        self._seed = seed
        self._moving = asyncio.Event()
        self._moving.set()
        self._lines: set[_Line] = set()
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._moving.set()
        lines = tuple(self._lines)
        self.cut()
        await asyncio.gather(*(line.ended for line in lines))

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    @property
    def standing(self) -> int:
        """How many connections stand."""
        return len(self._lines)

    def pass_on(self) -> None:
        """Everything arrives."""
        self._become("pass")

    def corrupt(self, share: float) -> None:
        """One bit of this share of the bytes is flipped, both ways."""
        self.share = share
        self._become("corrupt")

    def delay(self, delay_s: float, back_s: float | None = None) -> None:
        """Everything arrives so much later, what goes back after a time of its own if there is one."""
        self.delay_s = {"up": delay_s, "down": delay_s if back_s is None else back_s}
        self._become("delay")

    def stall(self) -> None:
        """Nothing arrives for now."""
        self._become("stall")

    def drop(self, way: Way) -> None:
        """What goes this way vanishes."""
        self.way = way
        self._become("drop")

    def reorder(self, share: float) -> None:
        """At this share of the bytes, two pieces that follow each other change places, both ways."""
        self.share = share
        self._become("reorder")

    def cut(self) -> None:
        """Ends all connections that stand."""
        for line in tuple(self._lines):
            line.cut()

    def _become(self, mode: Mode) -> None:
        self.mode = mode
        if mode == "stall":
            self._moving.clear()
        else:
            self._moving.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        line = _Line(self, number, (reader, writer), (far_reader, far_writer))
        self._lines.add(line)
        if not self._server.is_serving():
            line.cut()
        await line.ended
        self._lines.discard(line)

    def flips(self, number: int, way: Way) -> Iterator[tuple[int, int]]:
        """How many bytes of a stream stay as they are before the next that is altered, and which of its bits is."""
        random = Random(f"{self._seed} {number} {way}")
        while True:
            yield int(random.expovariate(self.share)), 1 << random.randrange(8)

    def swaps(self, number: int, way: Way) -> Iterator[tuple[int, int, int]]:
        """How many bytes of a stream stay where they are before the next two pieces that change places, and theirs."""
        random = Random(f"{self._seed} {number} {way} swaps")
        while True:
            one, other = (random.randint(1, _PIECE_BYTES_MAX) for _ in "ab")
            yield int(random.expovariate(self.share)), one, other

    async def moving(self) -> None:
        """Waits while everything is stalled."""
        await self._moving.wait()


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Line:
    """One connection through the proxy: two streams that end together."""

    def __init__(self, proxy: Proxy, number: int, near: Ends, far: Ends) -> None:
        self._transports = near[1].transport, far[1].transport
        streams = _Stream(proxy, number, "up", near[0], far[1]), _Stream(proxy, number, "down", far[0], near[1])
        self._tasks = [asyncio.ensure_future(task) for each in streams for task in (each.read(), each.write())]
        self.ended = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        for task in self._tasks:
            task.cancel()
        for transport in self._transports:
            transport.abort()


class _Stream:
    """One way of a connection: what is read waits until it is due, and is written as the mode of that time has it."""

    def __init__(
        self, proxy: Proxy, number: int, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._way: Way = way
        self._reader = reader
        self._writer = writer
        self._held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_HELD)
        self._flips = proxy.flips(number, way)
        self._flip: tuple[int, int] | None = None
        self._swaps = proxy.swaps(number, way)
        self._swap: tuple[int, int, int] | None = None

    async def read(self) -> None:
        """Takes in what comes, until the end."""
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while data := await self._reader.read(_CHUNK_BYTES):
                late = self._proxy.delay_s[self._way] if self._proxy.mode == "delay" else 0.0
                await self._held.put((loop.time() + late, data))
        await self._held.put((0.0, b""))
        await asyncio.Event().wait()  # whatever was read is written before the line ends

    async def write(self) -> None:
        """Hands on what is due, until the end."""
        proxy, loop = self._proxy, asyncio.get_running_loop()
        with suppress(ConnectionError):
            while True:
                due, data = await self._held.get()
                if not data:
                    return
                if (late := due - loop.time()) > 0:
                    await asyncio.sleep(late)
                await proxy.moving()
                if proxy.mode == "drop" and proxy.way == self._way:
                    proxy.dropped += len(data)
                    continue
                if proxy.mode == "corrupt":
                    data = self._altered(data)
                elif proxy.mode == "reorder":
                    data = self._reordered(data)
                self._writer.write(data)
                await self._writer.drain()
                proxy.carried[self._way] += len(data)

    def _altered(self, data: bytes) -> bytes:
        changed, at = bytearray(data), 0
        while True:
            gap, bit = next(self._flips) if self._flip is None else self._flip
            if at + gap >= len(data):
                self._flip = gap - (len(data) - at), bit
                return bytes(changed)
            at += gap
            changed[at] ^= bit
            self._proxy.altered += 1
            self._flip = None
            at += 1

    def _reordered(self, data: bytes) -> bytes:
        changed, at = bytearray(data), 0
        while True:
            gap, one, other = next(self._swaps) if self._swap is None else self._swap
            if at + gap + 2 > len(data):
                self._swap = max(0, gap - (len(data) - at)), one, other
                return bytes(changed)
            at += gap
            middle = at + min(one, (len(data) - at) // 2)
            end = min(middle + other, len(data))
            swapped = changed[middle:end] + changed[at:middle]
            self._proxy.swapped += swapped != changed[at:end]
            changed[at:end] = swapped
            self._swap = None
            at = end
