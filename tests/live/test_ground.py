"""`siftcast ground`: nodes measure each other, and what they found is a network that a simulation runs on."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.client.grounding import MeasuredGround, MeasuredHost, measure_ground
from siftcast.runtimes.live.errors import ConfigurationError, Refused
from siftcast.runtimes.live.node import grounding, measuring
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.grounding import Grounding
from siftcast.runtimes.live.node.rights import hash_token
from siftcast.runtimes.live.node.routes import NOT_PERMITTED
from siftcast.runtimes.live.slow_line import SlowLine
from siftcast.runtimes.live.wire.ground_questions import ROWS_MAX, GroundQuestion, answer_in, encode_question
from siftcast.runtimes.live.wire.node_frames import Introduction
from siftcast.underlay.ground_file import read_ground
from siftcast.underlay.ground_underlay import read_ground_underlay
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running
from tests.live.small_networks import small_network


async def command(*arguments: str) -> int:
    return await asyncio.to_thread(main, list(arguments))


# -- the command -------------------------------------------------------------------------------------


@on_loop
async def test_all_pairs_of_a_network_are_measured_and_a_simulation_runs_on_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.ground"
    async with (
        small_network(tmp_path, 3) as network,
        SlowLine("127.0.0.1", network.port("n0"), 30.0) as line,
    ):
        await network.start("n0", {"n2": "127.0.0.1:1"})
        await network.start("n1")
        await network.start("n2", {"n0": f"127.0.0.1:{line.port}"})
        await network.joined()
        assert await command("ground", network.address("n1"), "--out", str(file)) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "nodes 3 delays 6 of 6" in shown
        ground = read_ground(file)
        assert [host.name for host in ground.hosts] == ["n0", "n1", "n2"]
        assert [host.identity for host in ground.hosts] == [
            network.nodes[name].life.overlay.node for name in network.names
        ]
        assert [host.address for host in ground.hosts] == [network.address(name) for name in network.names]
        assert ground.matrix_ms[0, 2] >= 30
        assert ground.matrix_ms[2, 0] >= 30
        assert (ground.matrix_ms[1] < 30).all()
        assert ground.routes == ()
        assert await command("ground", network.address("n1"), "--out", str(file)) == 2
        assert "--force" in capsys.readouterr().err
        assert await command("ground", network.address("n0"), "--out", str(file), "--force", "--json") == 0
        summary = json.loads(capsys.readouterr().out)
        assert (summary["pairs"], summary["measured"], summary["failures"], summary["silent"]) == (6, 6, [], [])
        assert not any(node.life._grounding._runs for node in network.nodes.values()), "nothing is kept for it"
    underlay = read_ground_underlay(file)
    assert underlay.servers == 3
    assert underlay.latency_ms(0, 2) >= 30
    (tmp_path / "own.toml").write_text(
        '[underlay]\nfile = "own.ground"\nformat = "ground"\n[scheme]\nname = "filter-based"\n'
        '[workload]\npreset = "kyra-zipf"\nevents = 20\nsubscriptions = 10\n[workload.options]\nvalues = 10\n'
        "interest_rate = 0.5\n"
    )
    assert await command("simulate", str(tmp_path / "own.toml")) == 0
    assert "on 3 servers" in capsys.readouterr().out


@on_loop
async def test_nodes_that_are_named_are_measured_and_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.ground"
    async with small_network(tmp_path, 3) as network, running() as stranger:
        for name in network.names:
            await network.start(name)
        await network.joined()
        wanted = [network.address("n2"), network.url("n0")]
        assert await command("ground", *wanted, "--out", str(file)) == 0
        assert [host.name for host in read_ground(file).hosts] == ["n0", "n2"]
        capsys.readouterr()
        assert await command("ground", *wanted, stranger.address, "--out", str(file), "--force") == 2
        said = capsys.readouterr().err
        assert "node 'node' does not answer in the network of node 'n2'" in said
        assert "measure one network at a time" in said


@on_loop
async def test_a_node_by_itself_has_nothing_to_measure_and_no_file_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running() as node:
        assert await command("ground", node.address, "--out", str(tmp_path / "one.ground")) == 2
    assert "it takes two" in capsys.readouterr().err
    assert not (tmp_path / "one.ground").exists()


@on_loop
async def test_what_could_not_be_measured_is_named_with_the_reason_and_the_file_has_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "DEMAND_S", 0.3)
    file = tmp_path / "part.ground"
    overlay = 'links = [["n0", "n1"], ["n1", "n2"]]'
    async with small_network(tmp_path, 3, overlay=overlay) as network:
        away = {"n0": "127.0.0.1:1", "n2": "127.0.0.1:1"}
        await network.start("n0", {"n2": away["n2"]})
        await network.start("n1")
        await network.start("n2", {"n0": away["n0"]})
        await network.joined()
        assert await command("ground", network.address("n1"), "--out", str(file), "--routes") == 0
        said = capsys.readouterr().err
    assert "not measured: n0 → n2: it does not answer" in said
    assert "not measured: n2 → n0: it does not answer" in said
    assert f"no routes from n1: {NOT_PERMITTED}" in said
    ground = read_ground(file)
    assert (ground.delays_ms[0][2], ground.delays_ms[2][0]) == (None, None)
    assert None not in ground.delays_ms[1]
    assert {route.status for route in ground.routes} == {"unavailable"}


@on_loop
@pytest.mark.parametrize("place", ["none/my.ground", "."])
async def test_a_place_where_nothing_can_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    nobody = "127.0.0.1:1"  # is never called
    assert await command("ground", nobody, "--out", str(tmp_path / place), "--force") == 2
    said = capsys.readouterr().err
    assert nobody not in said
    assert "does not exist" in said or "is a folder" in said


@on_loop
async def test_nothing_is_written_where_nothing_could_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_network(tmp_path, 2) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        for node in network.nodes.values():
            measured = node.life.peers.measuring
            monkeypatch.setattr(measured, "ask", lambda number, heard, asker: heard(None))
        assert await command("ground", network.address("n0"), "--out", str(tmp_path / "no.ground")) == 2
    assert "no pair of 2 nodes could be measured, the first because it does not answer" in capsys.readouterr().err
    assert not (tmp_path / "no.ground").exists()


@on_loop
async def test_whoever_may_not_see_the_network_may_not_have_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'[[principal]]\nname = "desk"\ntoken_hash = "{hash_token("desk-token")}"\npublish = "TRUE"\n'
    async with running(text) as node:
        asked = ["ground", node.address, "--out", str(tmp_path / "no.ground"), "--token", "desk-token"]
        assert await command(*asked) == 2
    assert "see" in capsys.readouterr().err


# -- nodes that are asked ----------------------------------------------------------------------------


@on_loop
async def test_nodes_that_do_not_know_each_other_are_introduced_first(tmp_path: Path) -> None:
    async with small_network(tmp_path, 3, overlay='links = [["n0", "n1"], ["n1", "n2"]]') as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        far = network.nodes["n2"].life.overlay.node
        book = network.nodes["n0"]._lasting.book
        del book._listed[far]
        assert far not in book
        async with connect(network.url("n1")) as bus:
            found = await measure_ground([bus])
        assert far in book
        assert (found.measured, found.failures()) == (6, [])


@on_loop
async def test_a_node_that_falls_silent_is_given_up_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siftcast.runtimes.live.node.inquiries.PATIENCE_MS", 150.0)
    async with small_network(tmp_path, 3) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        silent = network.nodes["n2"].life
        answer, heard = silent._grounding.answer, list[bytes]()

        def fall_silent(content: bytes) -> dict[str, Any]:
            heard.append(content)
            if len(heard) > 1:
                raise Refused("busy")
            return answer(content)

        monkeypatch.setattr(silent._grounding, "answer", fall_silent)
        async with connect(network.url("n0")) as bus:
            found = await measure_ground([bus])
    assert found.measured == 4
    assert {(one.name, other.name, why) for one, other, why in found.failures()} == {
        ("n2", "n0", "did not say"),
        ("n2", "n1", "did not say"),
    }


@on_loop
async def test_a_node_that_leaves_before_anything_is_known_of_it_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siftcast.runtimes.live.node.inquiries.PATIENCE_MS", 150.0)
    file = tmp_path / "two.ground"
    async with small_network(tmp_path, 3) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        gone = network.nodes["n2"].life
        answer, heard = gone._grounding.answer, list[bytes]()

        def go(content: bytes) -> dict[str, Any]:
            heard.append(content)
            if len(heard) > 1:
                raise Refused("gone")
            return answer(content)

        monkeypatch.setattr(gone._grounding, "answer", go)
        for name in ("n0", "n1"):
            measures = network.nodes[name].life.peers.measuring
            ask = measures.ask

            def unless_gone(number: int, heard: Any, asker: Any, ask: Any = ask) -> None:
                if number == gone._lasting.identity:
                    heard(None)
                else:
                    ask(number, heard, asker)

            monkeypatch.setattr(measures, "ask", unless_gone)
        assert await command("ground", network.address("n0"), "--out", str(file)) == 0
    said = capsys.readouterr().err
    assert "did not answer, and is left out: n2" in said
    assert "not measured" not in said
    assert read_ground_underlay(file).server_names == ("n0", "n1")


@on_loop
async def test_nodes_stop_measuring_when_whoever_asked_does_not_wait_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_network(tmp_path, 3) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        lives = [node.life for node in network.nodes.values()]
        for life in lives:
            monkeypatch.setattr(life.peers.measuring, "ask", lambda *_: None)  # takes for ever
        async with connect(network.url("n0")) as bus:
            waiting = asyncio.create_task(measure_ground([bus]))
            await until(lambda: all(life._grounding._runs for life in lives))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await until(lambda: not any(life._grounding._runs for life in lives))
        assert waiting.cancelled()


class Alone:
    """A node's part in runs, whose measurements a test ends."""

    def __init__(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        self.asked: list[tuple[int, Callable[[float | None], None]]] = []
        self.book = AddressBook(None, "net", None, clock_ms=0.0)  # type: ignore[arg-type]
        self.hosts = tuple(range(1, count + 1))
        self.grounding = Grounding(
            loop, 1, "n1", address=lambda: "127.0.0.1:1", book=self.book, measuring=self, routes=None  # type: ignore[arg-type]
        )  # fmt: skip

    def ask(self, number: int, heard: Callable[[float | None], None], asker: str) -> None:
        self.asked.append((number, heard))

    def answer(self, question: GroundQuestion) -> Any:
        answer = answer_in(self.grounding.answer(encode_question(question)))
        assert answer is not None
        return answer


@on_loop
async def test_few_are_measured_at_a_time_and_the_rows_come_in_pages() -> None:
    node = Alone(2 * ROWS_MAX + 11)
    question = GroundQuestion("run", node.hosts)
    assert node.answer(question).asked == 2 * ROWS_MAX + 10
    assert len(node.asked) == grounding.OPEN_MAX
    assert node.asked[0][0] == 2, "the one after itself"
    measured = 0
    while measured < len(node.asked):
        host, heard = node.asked[measured]
        heard(float(host))
        measured += 1
    assert node.answer(question).done == 2 * ROWS_MAX + 10
    pages = [node.answer(GroundQuestion("run", report=1, first=at)).rows for at in range(0, 3 * ROWS_MAX, ROWS_MAX)]
    assert [len(page) for page in pages] == [ROWS_MAX, ROWS_MAX, 10]
    assert {row.host: row.delay_ms for page in pages for row in page} == {host: host for host in node.hosts[1:]}
    assert node.answer(GroundQuestion("run", report=2)).rows == []
    assert node.answer(GroundQuestion("run", is_over=True)).asked == 0


@on_loop
async def test_a_run_that_nobody_asks_about_any_more_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding, "LEASE_S", 0.01)
    node = Alone(100)
    node.answer(GroundQuestion("run", node.hosts))
    await until(lambda: not node.grounding._runs)
    node.asked[0][1](5.0)
    assert len(node.asked) == grounding.OPEN_MAX, "no other is measured for it"


@on_loop
async def test_an_introduction_by_a_client_counts_for_nothing_and_nonsense_is_refused() -> None:
    node = Alone(3)
    lie = GroundQuestion("run", node.hosts, introductions=(Introduction(2, "n2", "10.0.0.66:1"),))
    node.grounding.answer(node.grounding.prepare(encode_question(lie)))
    assert 2 not in node.book
    node.grounding.answer(encode_question(lie))  # from another node
    assert node.book.address(2) == "10.0.0.66:1"
    for content in (b"", b"\xc1", encode_question(GroundQuestion("")), encode_question(GroundQuestion("x" * 65))):
        with pytest.raises(Refused):
            node.grounding.prepare(content)
    with pytest.raises(Refused, match="at most 2,000"):
        node.grounding.prepare(encode_question(GroundQuestion("run", tuple(range(2_001)))))
    assert answer_in({"distances": {"identity": "x"}}) is None
    assert answer_in({"node": "a"}) is None


@on_loop
async def test_a_node_of_version_3_is_not_asked_what_it_would_take_for_damage(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        peers = network.nodes["n0"].life.peers
        (other,) = peers.connected
        assert peers.can_read(other, "distances")
        peers._links[other].version = 3
        assert not peers.can_read(other, "distances")
        assert peers.can_read(other, "members")
        async with connect(network.url("n0")) as bus:
            with pytest.raises(Refused, match="it takes two"):
                await measure_ground([bus])


def test_a_ground_without_rows_has_all_pairs_as_failures() -> None:
    hosts = MeasuredHost("a", 1, "x"), MeasuredHost("b", 2, "y")
    empty = MeasuredGround(hosts, {}, ())
    assert (empty.pairs, empty.measured, len(empty.failures())) == (2, 0, 2)


@on_loop
async def test_a_node_probes_as_often_as_its_configuration_says_and_routes_only_if_it_says_so() -> None:
    async with running() as usual, running("probes_per_minute = 30\ntraceroute = true") as other:
        assert (usual.life._budget.per_minute, usual.life.routes.is_permitted) == (600, False)
        assert (other.life._budget.per_minute, other.life.routes.is_permitted) == (30, True)
    with pytest.raises(ConfigurationError, match=r"probes_per_minute"):
        configured("probes_per_minute = 2")  # fewer than one measurement takes
