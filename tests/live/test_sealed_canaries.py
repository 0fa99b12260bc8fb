"""What nodes, disks, wires and logs see of sealed payloads: words that may stand nowhere, looked for everywhere.

Words in attributes are looked for as well, and must be found, so that the search is known to work.
"""

import logging
import time
from pathlib import Path

import pytest

import siftcast
from siftcast import Event, QueuePolicy
from tests.live.asynchronous import on_loop, until
from tests.live.small_networks import SmallNetwork, small_network
from tests.live.taps import Tap
from tests.unit.security.made_rings import ring_folders

CANARY, REASON, ATTRIBUTE, PLAIN = (
    "canary-payload-73919", "canary-reason-40193", "canary-attribute-5810", "canary-plain-66071"
)  # fmt: skip
FORMS = {
    word: [word.encode(form) for form in ("utf-8", "utf-16-le", "utf-32-le")]
    + [word.encode().hex().encode(), word[::-1].encode()]
    for word in (CANARY, REASON, ATTRIBUTE, PLAIN)
}


def found_in(data: bytes) -> set[str]:
    return {word for word, forms in FORMS.items() if any(form in data for form in forms)}


def found_on_disk(folder: Path) -> set[str]:
    """What all files say, together: stores with their logs and tails, recordings, configurations."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name.startswith("store") for path in files)
    return set().union(*(found_in(path.read_bytes()) for path in files))


async def start_all(network: SmallNetwork, between: Tap) -> None:
    """Nodes of which n1 calls n0 through a line that is listened to."""
    await network.start("n0")
    await network.start("n1", {"n0": between.address})
    await network.start("n2")
    await network.joined()


@on_loop
async def test_nobody_on_the_way_sees_what_is_sealed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, feed, member = ring_folders(tmp_path / "rings", time.time())
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    caplog.set_level(logging.DEBUG)
    more = '[log]\nlevel = "debug"\n[recording]\nfolder = "{}"\n'.format(nodes / "trace")
    async with (
        small_network(nodes, 3, durable=True, more=more) as network,
        Tap("127.0.0.1", network.port("n0")) as between,
        Tap("127.0.0.1", network.port("n0")) as publishing,
        Tap("127.0.0.1", network.port("n1")) as subscribing,
    ):
        await start_all(network, between)
        async with (
            siftcast.connect(f"siftcast://{publishing.address}", name="feed", keys=feed) as publisher,
            siftcast.connect(f"siftcast://{subscribing.address}", name="desk", keys=member) as subscriber,
        ):
            policy = QueuePolicy(refusals_max=2)
            stream = await subscriber.subscribe("value >= 0", durable="desk", policy=policy).ready()
            later = await subscriber.subscribe("value >= 0", durable="later").ready()
            await until(lambda: network.nodes["n0"].describe()["state"]["entries"])
            later.close()
            events = [Event({"value": n, "note": ATTRIBUTE}, payload=f"{CANARY} {n}".encode()) for n in range(20)]
            await publisher.publish_many(events, durable=True, seal="payload", group="desk")
            await publisher.publish(events[0], durable=True, seal="payload", group="desk")
            await publisher.dry_run(events[0])
            for _ in range(20):
                event = await anext(stream)
                assert event.payload.startswith(CANARY.encode())
                if event["value"]:
                    event.ack()
                else:
                    event.nack(f"{REASON}: {event.payload!r}")
            await until(lambda: network.nodes["n1"].describe()["state"]["durable"]["n1/later"] == 21)
            again = await anext(stream)
            while again.attempt < 2:
                again.ack()
                again = await anext(stream)
            again.nack(REASON)
            letters: list[siftcast.Event] = []
            while not letters:
                letters = [letter.event for letter in await subscriber.dead_letters("desk")]
            assert letters[0].payload == f"{CANARY} 0".encode()
            await publisher.trace(event.id)
        for heard in (between.heard, publishing.heard, subscribing.heard):
            assert found_in(bytes(heard)) == {ATTRIBUTE}
        said = "".join(network.log_of(name) for name in network.names) + caplog.text
        assert found_in(said.encode()) <= {ATTRIBUTE}
        kept = [found_on_disk(nodes / name) for name in ("n0", "n1")]
        assert {ATTRIBUTE} in kept
        assert all(words <= {ATTRIBUTE} for words in kept)
        assert found_in(b"".join(path.read_bytes() for path in nodes.rglob("*") if path.is_file())) == {ATTRIBUTE}


@on_loop
async def test_the_search_finds_a_payload_that_is_not_sealed(tmp_path: Path) -> None:
    async with (
        small_network(tmp_path, 1, durable=True) as network,
        Tap("127.0.0.1", network.port("n0")) as tap,
    ):
        await network.start("n0")
        async with siftcast.connect(f"siftcast://{tap.address}", name="feed") as bus:
            stream = await bus.subscribe("value >= 0", durable="desk").ready()
            await bus.publish(Event({"value": 1}, payload=PLAIN.encode()), durable=True)
            (await anext(stream)).nack(REASON)
            await until(lambda: REASON in bytes(tap.heard).decode("latin-1"))
        assert found_in(bytes(tap.heard)) == {PLAIN, REASON}
        assert PLAIN in found_on_disk(tmp_path / "n0")
