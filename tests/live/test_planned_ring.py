"""A running network, proposed a ring by what it has counted, installs it and loses nothing."""

import asyncio
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import siftcast
from siftcast import Event
from siftcast.interfaces.cli import main
from siftcast.interfaces.cli.network_command import _option
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.local_network import SCHEMA, LocalNetwork
from siftcast.runtimes.live.node.applying import wanted_settings
from siftcast.runtimes.live.node.layout import Overlay, Terms
from siftcast.runtimes.live.node.node import run
from siftcast.runtimes.live.node.planning import PlanSettings

HOT = [f"value >= {first} AND value < {first + 10}" for first in range(800, 1_000, 10)]
COLD = [f"value >= {first} AND value < {first + 100}" for first in range(0, 800, 100)]


def test_a_plan_that_cannot_be_is_refused_in_words_that_are_said_once() -> None:
    terms = Terms("net", "rendezvous", {}, None, durable=True)
    overlay = cast("Overlay", SimpleNamespace(terms=terms, scheme="rendezvous"))
    text = "[overlay.options]\ncollect = true\nconfirm = 'matched'"
    with pytest.raises(Refused) as refused:
        wanted_settings(text, overlay, [], PlanSettings({}))
    assert str(refused.value) == (
        "the network cannot be planned so: a durable ring must not collect, and confirms what is matched or received"
    )


@pytest.mark.full
def test_a_ring_is_planned_from_live_rates_and_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, schema = tmp_path / "new.toml", tmp_path / "schema.toml"
    schema.write_text(SCHEMA)
    with LocalNetwork(tmp_path / "net", 4, "rendezvous", schema=schema) as network:
        network.await_joined()

        async def publish(first: int) -> None:
            async with siftcast.connect(network.urls["n0"]) as bus:
                for number in range(first, first + 200):
                    value = 800 + number % 200 if number % 4 else number % 800
                    await bus.publish(Event({"value": value}, id=f"e{number}"))

        async def go() -> None:
            async with siftcast.connect(network.urls["n2"]) as bus, siftcast.connect(network.urls["n3"]) as other:
                streams = [bus.subscribe(text) for text in HOT] + [other.subscribe(text) for text in COLD]
                for stream in streams:
                    await stream.__aenter__()
                await asyncio.to_thread(network.await_quiet)
                await publish(0)
                asked = ["plan", "ring", "--from", network.urls["n1"], "--schema", str(schema), "--output", str(plan),
                         "--replicas", "1", "--expected", "500000", "--memory", "600MiB"]  # fmt: skip
                assert await asyncio.to_thread(main, asked) == 0
                assert await asyncio.to_thread(main, ["network", "apply", str(plan), "--at", network.urls["n1"]]) == 0
                await publish(200)
                found: list[str] = []
                async with asyncio.timeout(60):
                    pending = {asyncio.ensure_future(anext(stream)): stream for stream in streams}
                    while len(found) < 400:
                        done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                        for task in done:
                            stream = pending.pop(task)
                            found.append(task.result().id)
                            pending[asyncio.ensure_future(anext(stream))] = stream
                for task in pending:
                    task.cancel()
                await asyncio.gather(*pending, return_exceptions=True)
                assert sorted(found) == sorted(f"e{number}" for number in range(400))
                for stream in streams:
                    await stream.__aexit__(None, None, None)

        run(go())
        words = " ".join(capsys.readouterr().out.split())
        assert "N = 4 nodes" in words
        assert f"{len(HOT) + len(COLD)} subscriptions" in words
        assert "value, cut into" in words
        options = tomllib.loads(plan.read_text())["overlay"]["options"]
        assert {network.describe(name)["state"]["epoch"] for name in network.names} == {2}
        assert options["key"] == "value"


def test_what_does_not_come_out_as_it_says_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.toml"
    with LocalNetwork(tmp_path / "net", 2, "rendezvous", options={"parts": 2}) as network:
        network.await_joined()
        assert network.remarks() == ("parts = 2, but there is 1 cluster, so a zone has at most 1",)
        assert "parts = 2, but there is 1 cluster" in network.log_of("n0")
        where = ["--at", network.urls["n1"]]
        new.write_text("[overlay.options]\nclusters = 2\nreplicas = 1\nparts = 9\n")
        assert main(["network", "apply", str(new), *where]) == 0
        told = " ".join(capsys.readouterr().err.split())
        assert "note: parts = 9, but there are 2 clusters, so a zone has at most 2" in told
        new.write_text('[overlay]\nlinks = [["n0", "n1"]]\n')
        assert main(["network", "apply", str(new), *where]) == 0
        assert "note: links of no effect: with delivery = 'direct'" in " ".join(capsys.readouterr().err.split())
        for options, words in (
            ("cuts = [1, 2]", "so write it in quotes: cuts = '[1, 2]'"),
            ("clusters = 9999999999999999999", "is a number from -9,223,372,036,854,775,807"),
            ('key = "nosuch"', "is not in the schema, which has value"),
        ):
            new.write_text(f"[overlay.options]\n{options}\n")
            assert main(["network", "apply", str(new), *where]) == 2
            assert words in " ".join(capsys.readouterr().err.split())


def test_a_list_can_be_given_as_an_option_without_quotes() -> None:
    assert _option("cuts=[1, 2]") == ("cuts", "[1, 2]")
    assert _option('cuts=["a"]') == ("cuts", '["a"]')
    assert _option("replicas=2") == ("replicas", 2)
    assert _option("collect=true") == ("collect", True)
    assert _option("key=symbol") == ("key", "symbol")
