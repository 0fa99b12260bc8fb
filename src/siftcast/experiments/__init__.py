"""The papers' experiments, one folder per paper: what was claimed, how we set it up, what came out.

claims.py       a claim, how it is judged, and the verdict
table.py        outcomes of a sweep by what was asked, as judges and figures read them
study.py        what a paper's folder offers: configurations, one function that runs one, judges, figures
seeds.py        one scenario of the simulator under many seeds
reproduce.py    the visible loop: sweep on Spark → judge → figures → claims.json and a page

A folder has at least setup.py (`configurations`), measure.py (`run`), judge.py (`judge`) and figures.py (`draw`, and
the `ACCOUNT` of how it was set up).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from siftcast.experiments.study import Study


def _study(name: str, title: str, version: str, rows: tuple[str, int]) -> Callable[[], Study]:
    """A paper by the name of its folder and its rows, such as K1 to K13; another version has all measured anew."""
    folder = f"{__name__}.{name.replace('-', '_')}"

    def load() -> Study:
        setup, judge, figures = (import_module(f"{folder}.{part}") for part in ("setup", "judge", "figures"))
        return Study(
            name,
            title,
            f"{folder}.measure:run",
            version,
            tuple(f"{rows[0]}{number}" for number in range(1, rows[1] + 1)),
            setup.configurations,
            judge.judge,
            figures.draw,
            figures.ACCOUNT,
        )

    return load


STUDIES = {
    "kyra": _study("kyra", "Kyra", "3", ("K", 13)),
    "lookup-reuse": _study("lookup-reuse", "Lookup reuse", "1", ("L", 8)),
    "clustering": _study("clustering", "Subscription clustering", "2", ("C", 8)),
    "rendezvous": _study("rendezvous", "Layers and the rendezvous ring", "1", ("R", 7)),
    "homed": _study("homed", "HOMED", "2", ("H", 6)),
    "qos": _study("qos", "Subscriber-defined QoS", "1", ("Q", 11)),
    "underlay": _study("underlay", "Underlay awareness", "1", ("U", 13)),
}
"""Papers by name; loaded when asked for, as they import what draws figures."""
