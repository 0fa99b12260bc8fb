"""`siftcast demo` on markets in which there is nothing to show: it says so, and does not call it a success."""

import pytest
from rich.console import Console

from siftcast.interfaces.cli import demo_network
from siftcast.interfaces.cli.demo_network import Desk
from siftcast.model import Event


@pytest.mark.parametrize("size", [("--events", 0), ("--subscriptions", 0)])
def test_a_market_without_a_match_is_not_a_success(run, size):
    small = {"--events": 50, "--subscriptions": 5, **dict([size])}
    outcome = run("demo", "--no-network", "--no-spark", *(each for pair in small.items() for each in pair))
    assert outcome.status == 1
    assert "all agree" not in outcome.out
    assert "nothing to show" in outcome.out


def test_a_matcher_that_finds_nothing_where_filters_match_is_a_defect(run, monkeypatch):
    monkeypatch.setattr("siftcast.interfaces.cli.demo_run.DemoRun.compare_with_every_filter", lambda *_, **__: (5, 5))
    outcome = run("demo", "--no-network", "--no-spark", "--events", 0)
    assert outcome.status == 3
    assert "5 DIFFER" in outcome.out


@pytest.mark.parametrize(
    ("got", "wanted", "outcome"), [((), (), "vacuous"), (("e",), ("e",), "passed"), ((), ("e",), "failed")]
)
def test_desks_that_want_nothing_show_nothing(got, wanted, outcome):
    events = [Event({"price": 5}, id="e")]
    desk = Desk("d", "n0", "price = 5" if wanted else "price = 6", list(got))
    assert desk.wanted(events) == list(wanted)
    assert demo_network.conclude([desk], events, [0], Console(quiet=True)) == outcome
    assert demo_network.conclude([desk], events, [0, 1], Console(quiet=True)) == "failed"
