"""A proxy whose pieces change places: nothing is added or lost, and neither nodes nor clients take it for an event."""

import asyncio
from collections import Counter

import siftcast
from siftcast import Event
from tests.live.asynchronous import on_loop
from tests.live.nodes import running
from tests.live.proxies import Proxy

SENT = bytes(range(256)) * 40
BROKEN_MIN = 5


async def _through(seed: int, share: float) -> tuple[bytes, int]:
    """What arrives of `SENT` at the other end, and how many pairs were swapped."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set_result(await reader.readexactly(len(SENT)))
        writer.close()

    arrived: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with Proxy(*server.sockets[0].getsockname(), seed=seed) as proxy:
        proxy.reorder(share)
        host, _, port = proxy.address.rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(SENT)
        got = await arrived
        writer.close()
        server.close()
        return got, proxy.swapped


@on_loop
async def test_pieces_change_places_and_no_byte_is_added_or_lost() -> None:
    got, swapped = await _through(1, 0.002)
    assert swapped > 3
    assert got != SENT
    assert Counter(got) == Counter(SENT)
    assert await _through(1, 1e-9) == (SENT, 0)


@on_loop
async def test_an_ephemeral_event_arrives_as_it_was_or_not_at_all_where_pieces_change_places() -> None:
    async with running() as node:
        host, _, port = node.address.rpartition(":")
        async with (
            Proxy(host, int(port), seed=5) as proxy,
            siftcast.connect(f"siftcast://{node.address}") as reader,
            siftcast.connect(f"siftcast://{proxy.address}", timeout_s=60) as bus,
            reader.subscribe("value >= 0", buffer=100_000) as stream,
        ):
            taken: set[str] = set()
            proxy.reorder(1 / 1_500)
            number = 0
            while proxy.connections <= BROKEN_MIN or not taken:
                number += 1
                try:
                    taken.add(await bus.publish(Event({"value": number, "text": f"{number} " * 30}, f"e{number}")))
                except siftcast.SiftcastError:
                    continue
            proxy.pass_on()
            await bus.publish(Event({"value": 0, "text": ""}, "end"))
            got: Counter[str] = Counter()
            while "end" not in got:
                event = await anext(stream)
                assert event["text"] == ("" if event.id == "end" else f"{event['value']} " * 30)
                got[event.id] += 1
            assert taken <= set(got)
            assert set(got.values()) == {1}
