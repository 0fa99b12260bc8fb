"""Networks that follow their ground: planned by delays that their nodes measure, over lines that change."""

import asyncio
import json
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.local_network import SCHEMA
from siftcast.runtimes.live.node.planning import PlanSettings
from tests.live.asynchronous import on_loop, until
from tests.live.grounds import quicken, terrain

FOLLOWING = 'ground = "measured"\nground_ms = 100.0\n'
NEAR_MS, FAR_MS, VERY_FAR_MS = 5.0, 70.0, 150.0


@pytest.fixture(autouse=True)
def measure_often(monkeypatch: pytest.MonkeyPatch) -> None:
    quicken(monkeypatch)


@on_loop
async def test_the_tree_follows_when_a_delay_changes_and_no_event_is_lost_or_doubled(tmp_path: Path) -> None:
    delays_ms = {"n0 n1": FAR_MS, "n1 n2": NEAR_MS, "n0 n2": NEAR_MS}
    async with terrain(tmp_path, 3, delays_ms, overlay=FOLLOWING, durable=True) as ground:
        network = ground.network
        async with siftcast.connect(network.url("n0")) as publisher, siftcast.connect(network.url("n1")) as reader:
            stream = await reader.subscribe("value >= 0", durable="d").ready()
            accepted: list[str] = []
            stopping = asyncio.Event()

            async def publish() -> None:
                while not stopping.is_set():
                    event = Event({"value": len(accepted)}, f"e{len(accepted)}")
                    await publisher.publish(event, durable=True)
                    accepted.append(event.id)

            publishing = asyncio.create_task(publish())
            await until(lambda: ground.tree() == {"n0 n2", "n1 n2"})
            ground.put({"n1 n2": VERY_FAR_MS})
            await until(lambda: ground.tree() == {"n0 n1", "n0 n2"})
            ground.put({"n1 n2": NEAR_MS})  # which is no link now, and measured all the same
            await until(lambda: ground.tree() == {"n0 n2", "n1 n2"})
            stopping.set()
            await publishing
            found: list[str] = []
            while len(found) < len(accepted):
                event = await anext(stream)
                found.append(event.id)
                event.ack()
            assert sorted(found) == sorted(accepted)
            plan = (await publisher.describe())["plan"]
            assert (plan["by"], plan["follows_ground"]) == ("measured delays", True)
            assert plan["after_ms"] < plan["before_ms"]
        said = [json.loads(line) for line in network.log_of("n0").splitlines()]
        first, moved, *_ = [line for line in said if line["event"] == "planning by measured delays"]
        assert (first["why"], moved["why"]) == ("nodes were not measured", "the ground has moved")
        assert moved["after_ms"] < 0.8 * moved["before_ms"]


@on_loop
async def test_cliques_of_kyra_are_the_groups_of_nodes_that_are_near_each_other(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    groups = {frozenset({"n0", "n2"}), frozenset({"n1", "n3"})}  # by their names, n0 and n1 would be near
    delays_ms = {
        f"n{a} n{b}": NEAR_MS if frozenset({f"n{a}", f"n{b}"}) in groups else FAR_MS
        for a in range(4)
        for b in range(a + 1, 4)
    }
    overlay = f'schema = "schema.toml"\n{FOLLOWING}[overlay.options]\nclique_ms_max = 35.0\n'
    async with terrain(tmp_path, 4, delays_ms, overlay=overlay, scheme="kyra") as ground:

        def cliques() -> set[frozenset[str]]:
            return {frozenset(clique.members) for clique in ground.plan("n3").cliques}

        await until(lambda: cliques() == groups)
        async with siftcast.connect(ground.network.url("n2")) as bus:
            await operating.apply(bus, "[overlay.options]\nclique_ms_max = 1000.0\n", lambda facts: None)
        assert cliques() == {frozenset(ground.network.names)}  # milliseconds, and all are nearer than that
        settings = PlanSettings.decode(ground.view().newest.settings)
        assert settings.ground == "measured"
        assert settings.measured.nodes == set(ground.view().newest.nodes)


@on_loop
async def test_a_running_network_is_told_to_follow_its_ground_and_to_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delays_ms = {"n0 n1": 40.0, "n1 n2": 5.0, "n0 n2": 5.0}
    links = 'links = [["n0", "n1"], ["n1", "n2"]]'
    async with terrain(tmp_path, 3, delays_ms, overlay=links) as ground:
        url = ground.network.url("n1")

        async def say(*words: str) -> str:
            assert await asyncio.to_thread(main, [*words, "--at", url]) == 0
            return " ".join("".join(capsys.readouterr()).split())

        async def apply(text: str) -> str:
            (tmp_path / "change.toml").write_text(text)
            return await say("network", "apply", str(tmp_path / "change.toml"))

        assert "events go by the links that are written down" in await apply(f"[overlay]\n{FOLLOWING}")
        assert "plan 2 is by links that are written down; it follows the ground" in await say("members")
        assert "of no effect" not in await apply("[overlay]\nlinks = []\n")
        await until(lambda: ground.tree() == {"n0 n2", "n1 n2"})
        said = await say("members")
        assert "is by measured delays of 2" in said
        assert "ms between two nodes" in said
        said = await say("network", "replan")
        assert "mean between nodes" in said
        await apply('[overlay]\nground = "named"\n')
        assert "follows" not in await say("members")
        assert PlanSettings.decode(ground.view().newest.settings).ground == "named"


@on_loop
async def test_whoever_takes_the_office_of_the_coordinator_goes_on_following(tmp_path: Path) -> None:
    delays_ms = {"n0 n1": 5.0, "n0 n2": 5.0, "n0 n3": 5.0, "n1 n2": 40.0, "n2 n3": 5.0, "n1 n3": 5.0}
    async with terrain(tmp_path, 4, delays_ms, overlay=FOLLOWING) as ground:
        await until(lambda: len(ground.tree()) == 3 and ground.view().newest.number > 1)
        ground.network.nodes["n0"].life.leave()
        await until(lambda: ground.network.nodes["n0"].left.done())
        await ground.network.nodes.pop("n0").stop()
        ground.network.names.remove("n0")
        await until(lambda: ground.tree("n1") == {"n1 n3", "n2 n3"})
        coordinator = ground.view("n1").names[ground.view("n1").coordinator]
        assert coordinator != "n0"
        ground.put({"n1 n3": 90.0})
        await until(lambda: ground.tree("n1") == {"n1 n2", "n2 n3"})
        assert "the ground has moved" in ground.network.log_of(coordinator)


@on_loop
async def test_a_scheme_without_a_plan_says_that_measured_ground_has_no_effect(tmp_path: Path) -> None:
    async with terrain(tmp_path, 2, {}, overlay='ground = "measured"', scheme="gossip") as ground:
        assert "'gossip' has no plan" in ground.network.log_of("n0")
