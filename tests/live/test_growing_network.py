"""A network of processes that is grown from one node, shrunk and crashed under load: what was accepted arrives once.

The oracle is in the test: the ids of the events that a publisher was told are safe, and the filters.
"""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from siftcast.interfaces.cli import main
from siftcast.model import Event, SiftcastError
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run

PATIENCE_S = 90.0
FILTERS = ("TRUE", "value < 500", "value >= 100", "value BETWEEN 200 AND 900")


class Publisher:
    """Publishes durably at one node, one event after the other, until it is stopped."""

    def __init__(self, url: str) -> None:
        self.accepted: dict[str, int] = {}
        self._url = url
        self._stop = asyncio.Event()

    async def publish(self) -> None:
        async with connect(self._url, name="publisher") as bus:
            number = 0
            while not self._stop.is_set():
                value = number * 7 % 1_000
                await bus.publish(Event({"value": value}, f"e{number}"), durable=True)
                self.accepted[f"e{number}"] = value
                number += 1
                await asyncio.sleep(0.004)

    def stop(self) -> None:
        self._stop.set()


async def wait_for(condition, what: str) -> None:
    """Waits until something is so."""

    async def look() -> None:
        while not await condition():
            await asyncio.sleep(0.02)

    try:
        await asyncio.wait_for(look(), PATIENCE_S)
    except TimeoutError:
        raise AssertionError(f"still not so: {what}") from None


async def states(url: str) -> dict[str, str]:
    async with connect(url, name="looking") as bus:
        return {row["name"]: row["state"] for row in await operating.members_of(bus)}


async def described(url: str) -> dict:
    async with connect(url, name="looking") as bus:
        return await bus.describe()


async def subscribe(url: str, name: str, filter_: str) -> None:
    """Makes a durable subscription, and leaves it alone."""
    async with connect(url, name="subscriber") as bus, bus.subscribe(filter_, durable=name):
        pass


async def home_of(network: LocalNetwork, names: list[str], durable: str) -> str:
    """The node that has a durable subscription."""
    homes = []
    for node in names:
        listed = (await described(network.urls[node]))["subscriptions"]
        homes += [node for row in listed if row.get("durable") == durable]
    assert len(homes) == 1, f"{durable} is at {homes}"
    return homes[0]


async def read_all(url: str, name: str, filter_: str, expected: set[str]) -> list[str]:
    """The ids of all events that a durable subscription holds, and no more come."""
    found: list[str] = []
    async with connect(url, name="reader") as bus, bus.subscribe(filter_, durable=name) as stream:
        while True:
            all_there = expected <= set(found)
            try:
                event = await asyncio.wait_for(anext(stream), 0.3 if all_there else PATIENCE_S)
            except TimeoutError:
                if not all_there:
                    raise AssertionError(f"{name} misses {sorted(expected - set(found))[:8]}") from None
                return found
            found.append(event.id)
            event.ack()


async def grow_and_shrink(network: LocalNetwork, size: int) -> None:
    names = [f"n{number}" for number in range(size)]
    first = network.urls["n0"]
    publisher = Publisher(first)
    publishing = asyncio.ensure_future(publisher.publish())
    for number, name in enumerate(names[1:], 1):
        await asyncio.to_thread(network.join, name, names[number // 2], data=True)
    assert await states(first) == dict.fromkeys(names, "present")
    wanted = {name: FILTERS[number % len(FILTERS)] for number, name in enumerate(names)}
    for name, filter_ in wanted.items():
        await subscribe(network.urls[name], f"of-{name}", filter_)

    async def is_known_everywhere() -> bool:
        found = [await described(network.urls[name]) for name in names]
        return all(each["state"]["entries"] >= size - 1 for each in found)

    await wait_for(is_known_everywhere, "all nodes know all subscriptions")
    counted_from = len(publisher.accepted)

    async def is_(node: str, state: str) -> bool:
        return (await states(first)).get(node) == state

    # One crashes and comes back with its disk.
    network.kill("n1")
    await wait_for(lambda: is_("n1", "absent"), "n1 is absent")
    await asyncio.sleep(0.2)
    await asyncio.to_thread(network.start, "n1", wait=True)
    await wait_for(lambda: is_("n1", "present"), "n1 is back")
    # One leaves, and hands over what it holds.
    async with connect(network.urls["n2"], name="operator") as bus:
        last_words = await operating.leave(bus, lambda _: None)
    assert await asyncio.to_thread(network.processes["n2"].wait, 30) == 0
    # One crashes and never returns: a person says so.
    gone = names[-1] if size > 3 else ""
    if gone:
        network.kill(gone)
        await wait_for(lambda: is_(gone, "absent"), f"{gone} is absent")
        before = len(publisher.accepted)
        async with connect(first, name="operator") as bus:
            reports = await operating.forget(bus, gone, lambda _: None)
        assert any("1 durable subscriptions" in str(report.get("is")) for report in reports), reports
    count = len(publisher.accepted)
    await wait_for(_reached(publisher, count + 50), "events are still accepted")
    publisher.stop()
    await publishing

    left = [name for name in names if name not in ("n2", gone)]
    assert {name: state for name, state in (await states(first)).items() if state == "present"} == dict.fromkeys(
        left, "present"
    )
    matching = {"TRUE": range(1_000), "value < 500": range(500), "value >= 100": range(100, 1_000)}
    for name, filter_ in wanted.items():
        since = before if name == gone else counted_from  # what its disk alone had is lost
        values = matching.get(filter_, range(200, 901))
        expected = {id for id, value in list(publisher.accepted.items())[since:] if value in values}
        assert len(expected) > 20
        home = await home_of(network, left, f"of-{name}")
        if name == "n2":
            assert last_words == f"left the network; its durable subscriptions are at '{home}' now"
        found = await read_all(network.urls[home], f"of-{name}", filter_, expected)
        twice = [id for id, times in Counter(found).items() if times > 1]
        assert not twice, f"of-{name} at {home} has {twice[:5]} more than once"
        assert {publisher.accepted[id] for id in found} <= set(values)


def _reached(publisher: Publisher, count: int):
    async def reached() -> bool:
        return len(publisher.accepted) >= count

    return reached


@pytest.mark.parametrize(
    "size", [3, pytest.param(8, marks=pytest.mark.full)], ids=["three processes", "eight processes"]
)
def test_a_network_grown_by_join_and_shrunk_by_leave_and_kill_loses_nothing(tmp_path: Path, size: int) -> None:
    more = 'data = "{name}"'
    with LocalNetwork(tmp_path, 1, more=more, absent_ms=700.0) as network:
        run(grow_and_shrink(network, size))
        ended = network.ended
        assert ended.pop("n2") == 0
        assert list(ended.values()) == ([-9] if size > 3 else [])


def test_who_was_declared_gone_and_comes_back_is_told_and_ends(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, more='data = "{name}"', absent_ms=500.0) as network:
        network.join("n1", "n0", data=True)
        network.kill("n1")

        async def forget() -> None:
            async with connect(network.urls["n0"], name="operator") as bus:
                await operating.forget(bus, "n1", lambda _: None)

        run(forget())
        network.start("n1")
        assert network.processes["n1"].wait(60) != 0
        assert "declared gone" in network.log_of("n1")


def test_a_name_that_another_node_has_is_refused_in_words(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, more='data = "{name}"') as network:
        network.join("n1", "n0", data=True)
        where = ["--listen", "siftcast://127.0.0.1:0", "--join", network.urls["n0"] + "/"]  # as nodes print it
        options = ["--name", "n1", "--data", str(tmp_path / "other"), *where]
        command = [sys.executable, "-m", "siftcast", "serve", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0
        assert "give each node a name of its own" in " ".join(done.stderr.split())


def test_another_plan_takes_the_place_of_the_old_one_while_events_are_published(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, more='data = "{name}"') as network:
        text = (tmp_path / "n1.toml").read_text(encoding="utf-8")
        new = text.replace("[overlay.options]", '[overlay.options]\nsummary = "covering"')

        async def apply() -> None:
            for name in network.names:
                await subscribe(network.urls[name], f"of-{name}", "TRUE")
            publisher = Publisher(network.urls["n0"])
            publishing = asyncio.ensure_future(publisher.publish())
            await wait_for(_reached(publisher, 20), "events are accepted")
            async with connect(network.urls["n2"], name="operator") as bus:
                assert await operating.apply(bus, text, lambda _: None) == 1  # it is planned so already
                counted_from = len(publisher.accepted)
                assert await operating.apply(bus, new, lambda _: None) == 2
                links = '[overlay]\nlinks = [["n0", "n1"], ["n1", "n2"]]\n'
                assert await operating.apply(bus, links, lambda _: None) == 3  # nodes and options are as they were
                whole = new.replace("[overlay]\n", links)
                assert await operating.apply(bus, whole, lambda _: None) == 3  # so it is the same that was asked for
                for wrong, words in (
                    (new.replace('"covering"', '"short"'), "covering"),
                    (new.replace("[overlay]", '[overlay]\nnetwork = "other"'), "for 'other'"),
                    (new.replace("[overlay]", '[overlay]\nscheme = "broadcast"'), "cannot be changed"),
                    (links.replace("n2", "n3"), "n3, which the network does not have; its nodes are n0, n1, n2"),
                    (links.replace("n2", "n0"), "the link of 'n0' and 'n1' is there twice"),
                    ("[overlay]\n", "write links, options or ground in its"),
                ):
                    with pytest.raises(SiftcastError, match=words):
                        await operating.apply(bus, wrong, lambda _: None)
            await wait_for(_reached(publisher, len(publisher.accepted) + 20), "events are still accepted")
            publisher.stop()
            await publishing
            expected = set(list(publisher.accepted)[counted_from:])
            for name in network.names:
                found = await read_all(network.urls[name], f"of-{name}", "TRUE", expected)
                assert len(found) == len(set(found))

        run(apply())
        assert not network.ended


def test_a_network_that_began_as_a_list_is_joined_and_left(tmp_path: Path) -> None:
    """Without data folders, too: then nothing outlives a node, and only ephemeral events flow."""
    with LocalNetwork(tmp_path, 2) as network:
        network.await_joined()
        network.join("n2", "n1")

        async def change() -> None:
            urls = network.urls
            assert await states(urls["n0"]) == {"n0": "present", "n1": "present", "n2": "present"}
            async with connect(urls["n2"], name="reader") as reader, reader.subscribe("value = 1") as stream:

                async def arrives(at: str) -> bool:
                    async with connect(urls[at], name="publisher") as bus:
                        await bus.publish({"value": 1})
                    try:
                        return (await asyncio.wait_for(anext(stream), 0.5))["value"] == 1
                    except TimeoutError:
                        return False  # the subscription has not come so far yet

                await wait_for(lambda: arrives("n0"), "an event of n0 arrives at n2")
                async with connect(urls["n1"], name="operator") as bus:
                    await operating.leave(bus, lambda _: None)
                assert (await states(urls["n2"]))["n1"] in ("leaving", "left")
                await wait_for(lambda: arrives("n0"), "an event of n0 arrives at n2 without n1")

        run(change())
        assert network.processes["n1"].wait(30) == 0


def test_a_node_that_has_joined_starts_again_without_naming_a_seed(tmp_path: Path) -> None:
    """Its folder says what network it is of, also where that does not run the scheme a node alone would."""
    with LocalNetwork(tmp_path, 1, "match-early", more='data = "{name}"') as network:
        network.join("n1", "n0", data=True)
        network.kill("n1")
        file = tmp_path / "n1.toml"
        file.write_text(file.read_text(encoding="utf-8").partition("[join]")[0], encoding="utf-8")
        network.start("n1", wait=True)

        async def look() -> None:
            for name in ("n0", "n1"):
                assert await states(network.urls[name]) == {"n0": "present", "n1": "present"}
            assert (await described(network.urls["n1"]))["scheme"] == "match-early"

        run(look())


def test_a_node_that_answers_is_not_forgotten_although_the_one_that_is_asked_was_not_connected(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 4, more='data = "{name}"') as network:
        network.await_joined()
        ends = [(name, network.describe(name)) for name in network.names]
        asked, other = next(
            (name, each) for name, facts in ends for each in network.names if each not in (name, *facts["peers"])
        )
        at = ["--at", network.urls[asked]]
        assert main(["forget", other, *at]) == 2
        assert main(["forget", asked, *at]) == 2
        states = {row["name"]: row["state"] for row in network.describe(asked)["members"]}
        assert states[other] == "present"
        network.kill(other)
        assert main(["forget", other, *at]) == 0


def test_the_last_of_two_that_leave_at_once_says_that_it_cannot_and_does_not_leave_later(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 2, more='data = "{name}"') as network:
        network.await_joined()

        async def leave() -> None:
            for name in network.names:
                await subscribe(network.urls[name], f"of-{name}", "TRUE")
            async with connect(network.urls["n0"]) as one, connect(network.urls["n1"]) as other:
                both = await asyncio.gather(
                    *(operating.leave(bus, lambda _: None) for bus in (one, other)), return_exceptions=True
                )
            (refused,) = [each for each in both if isinstance(each, BaseException)]
            assert "last node of its network" in str(refused)

        run(leave())
        while not network.ended:
            time.sleep(0.01)
        (stays,) = [name for name in network.names if name not in network.ended]
        assert network.describe(stays)["state"]["asked_to_leave"] is False


def test_another_plan_is_used_although_a_member_is_absent(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, more='data = "{name}"', absent_ms=500.0) as network:
        network.await_joined()
        network.await_quiet()  # n2 is guarded: nobody plans around a node whose subscriptions only it may know
        network.kill("n2")
        text = (tmp_path / "n1.toml").read_text(encoding="utf-8")

        async def apply() -> None:
            async with connect(network.urls["n1"], name="operator") as bus:
                while not any(row["state"] == "absent" for row in await operating.members_of(bus)):
                    await asyncio.sleep(0.05)
                new = text.replace("[overlay.options]", '[overlay.options]\nsummary = "covering"')
                before = (await bus.describe())["state"]["epoch"]
                assert await operating.apply(bus, new, lambda _: None) > before

        run(apply())
