"""Roles of live nodes: said in a configuration, on the command line or in a list, shown, and told to plans."""

import asyncio
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.interfaces.cli import main
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.errors import ConfigurationError, LiveError, Refused
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.layout import lay_out
from siftcast.runtimes.live.node.planning import survey_of
from siftcast.schemes import scheme
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Growing, growing
from tests.live.nodes import url_of
from tests.live.small_networks import small_network

LISTED = """[node]
name = "a"
{}
[overlay]
scheme = "{}"
[[overlay.nodes]]
name = "a"
address = "127.0.0.1:7001"
{}
[[overlay.nodes]]
name = "b"
address = "127.0.0.1:7002"
{}
"""
EDGE, MATCHER = 'roles = ["edge"]', 'roles = ["matcher"]'


def laid_out(node: str = "", a: str = "", b: str = "", scheme: str = "filter-based"):
    return lay_out(parse_configuration(LISTED.format(node, scheme, a, b)), matcher_tables("brute_force"))


def roles_seen(network: Growing, name: str) -> dict[str, list[str]]:
    return {row["name"]: list(row.get("roles", ())) for row in network.nodes[name].life.members()}


@on_loop
async def test_roles_of_nodes_that_join_are_shown_everywhere_and_reach_the_plan(tmp_path: Path) -> None:
    async with growing(tmp_path, "filter-based") as network:
        await network.start("a", data=True, more=MATCHER + "\n")
        await network.start("b", "a", data=True)
        await network.start("c", "b", data=True, more=EDGE + "\n")
        await until(lambda: all(node.placed.done() for node in network.nodes.values()))
        expected = {"a": ["coordinator", "matcher"], "b": [], "c": ["edge"]}
        await until(lambda: all(roles_seen(network, name) == expected for name in "abc"))
        view = network.nodes["c"].life.protocol.view
        await until(lambda: len(network.nodes["c"].life.protocol.view.epochs) == 1)
        assert view.newest.nodes == (network.identity("a"), network.identity("b"))
        ground, _ = survey_of(scheme("filter-based"), None)(view.newest)
        assert ground.roles == {0: {"matcher"}}
        async with (
            siftcast.connect(url_of(network.nodes["c"])) as edge,
            siftcast.connect(url_of(network.nodes["b"])) as bus,
            edge.subscribe("n = 1", durable="kept") as mine,
            bus.subscribe("n = 2", durable="other") as others,
        ):
            await until(lambda: all(network.nodes[name].life.protocol.state()["entries"] for name in "ab"))
            await bus.publish(Event({"n": 1}), durable=True)
            assert (await anext(mine))["n"] == 1
            await edge.publish(Event({"n": 2}), durable=True)
            assert (await anext(others))["n"] == 2
            with pytest.raises(Refused, match="this node is an edge, which gets events for durable subscriptions only"):
                async with edge.subscribe("n = 3"):
                    pass


@on_loop
async def test_an_edge_of_a_list_has_no_place_and_is_served(tmp_path: Path) -> None:
    listed = f'[[overlay.nodes]]\nname = "edge"\naddress = "127.0.0.1:1"\n{EDGE}\n'
    async with small_network(tmp_path, 2, overlay=listed) as network:
        for name in network.names:
            await network.start(name)
        await until(lambda: network.nodes["n0"].life.peers.present == ["n1"])
        assert network.nodes["n0"].life.peers.missing == ["edge"]
        rows = {row["name"]: row.get("roles") for row in network.nodes["n1"].life.members()}
        assert rows == {"edge": ["edge"], "n0": ["coordinator"], "n1": None}


def test_a_list_says_roles_for_all_and_another_list_is_another_network() -> None:
    plain, with_role = laid_out(), laid_out(MATCHER, MATCHER)
    assert plain.digest == laid_out(b="roles = []").digest != with_role.digest
    assert laid_out(a=MATCHER).digest == with_role.digest
    edge = laid_out(a=EDGE)
    assert edge.contacts == tuple(node for node, name in edge.names.items() if name == "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ({"node": EDGE}, "list of nodes says otherwise"),
        ({"a": EDGE, "b": EDGE}, "begins with a node that is no edge"),
        ({"a": MATCHER, "scheme": "gossip"}, "gossip has no plan that could read roles"),
        ({"node": 'roles = ["broker"]'}, r"Invalid enum value 'broker'"),
        ({"node": "edge = true"}, "is not a known key"),
    ],
)
def test_roles_that_mean_nothing_are_refused_in_words(text: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        laid_out(**text)


@on_loop
async def test_a_network_without_a_plan_takes_in_no_roles(tmp_path: Path) -> None:
    async with growing(tmp_path, "gossip") as network:
        await network.start("a")
        with pytest.raises(LiveError, match=r"node\.roles.*gossip, the scheme there, has no plan"):
            await network.start("b", "a", more=MATCHER + "\n")


@on_loop
async def test_a_node_that_comes_back_with_other_roles_says_that_it_keeps_its_own(tmp_path: Path) -> None:
    async with growing(tmp_path, "filter-based") as network:
        await network.start("a", data=True)
        await network.start("b", "a", data=True, more=MATCHER + "\n")
        await network.nodes["b"].placed
        await network.nodes["b"].stop()
        await network.start("b", "a", data=True, more=EDGE + "\n")
        await until(lambda: "roles are not those configured" in network.logged("b"))
        assert roles_seen(network, "a")["b"] == ["matcher"]


def test_the_command_line_says_roles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--role", "edge", "--listen", "127.0.0.1:0"]) == 2
    assert "begins with a node that is no edge" in " ".join(capsys.readouterr().err.split())
    assert main(["serve", "--role", "broker"]) != 0
    assert "broker" in capsys.readouterr().err


def test_members_are_shown_with_their_roles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    async def show() -> int:
        async with growing(tmp_path, "filter-based") as network:
            await network.start("a", more=MATCHER + "\n")
            await network.nodes["a"].placed
            return await asyncio.to_thread(main, ["members", "--at", url_of(network.nodes["a"])])

    assert asyncio.run(show()) == 0
    assert "coordinator, matcher" in capsys.readouterr().out


@on_loop
async def test_only_nodes_that_may_answer_are_asked_for_what_they_measured(tmp_path: Path) -> None:
    async with growing(tmp_path, "filter-based") as network:
        await network.start("a", data=True)
        for name in "bc":
            await (await network.start(name, "a", data=True)).placed
        await network.nodes["c"].stop()
        for name in "ab":  # whoever is asked forgets the address, too; the other one only hears of it
            await until(lambda name=name: network.present(name))
        async with siftcast.connect(url_of(network.nodes["b"])) as bus:
            await operating.forget(bus, "c", lambda _: None)
        async with siftcast.connect(url_of(network.nodes["a"])) as bus:
            gone = {"identity": network.identity("c"), "state": "gone"}
            rows = [row for row in await operating.members_of(bus) if row["name"] == "c"]
            assert [{name: row[name] for name in gone} for row in rows] == [gone]
            assert (await operating.members_of_all(bus))[1] == []
