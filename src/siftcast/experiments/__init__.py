"""The papers' experiments, one folder a paper: what was claimed, how we set it up, what came out.

claims.py       a claim, how it is judged, and the verdict
study.py        what a paper's folder offers: configurations, one function that runs one, judges, figures
reproduce.py    the visible loop: sweep on Spark → judge → figures → claims.json and a page
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from siftcast.experiments.study import Study


def _study(folder: str) -> Callable[[], Study]:
    def load() -> Study:
        found: Study = import_module(f"siftcast.experiments.{folder}").STUDY
        return found

    return load


STUDIES = {"kyra": _study("kyra"), "lookup-reuse": _study("lookup_reuse"), "clustering": _study("clustering")}
"""Papers by name; loaded when asked for, as they import what draws figures."""
