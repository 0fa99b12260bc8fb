"""Kernels are made ready by a thread; whoever needs none of them does not wait for a compiler."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from siftcast.matching.warming import Warming


@pytest.fixture
def compiler() -> Iterator[tuple[Warming, threading.Event]]:
    """Kernels that must be compiled, and go on only when they are let."""
    go_on = threading.Event()

    def work() -> None:
        numba.njit(lambda number: number + 1)(1)
        go_on.wait()

    yield Warming(work), go_on
    go_on.set()


def test_loading_is_waited_for() -> None:
    loaded = threading.Event()
    warming = Warming(loaded.set)
    assert warming.begin()
    assert loaded.is_set()
    assert not warming.compiles


def test_compiling_is_not_waited_for(compiler: tuple[Warming, threading.Event]) -> None:
    warming, go_on = compiler
    called = threading.Event()
    warming.when_ready(called.set)
    assert not warming.begin()
    assert warming.compiles
    assert not called.is_set()
    go_on.set()
    warming.wait()
    assert warming.ready
    assert warming.begin()
    assert called.wait(60)


def test_who_asks_late_is_called_at_once() -> None:
    warming = Warming(lambda: None)
    warming.wait()
    called: list[bool] = []
    warming.when_ready(lambda: called.append(True))
    assert called == [True]


def test_what_fails_is_told_to_those_who_wait() -> None:
    def work() -> None:
        raise ZeroDivisionError("no compiler today")

    warming = Warming(work)
    assert not warming.begin()
    with pytest.raises(RuntimeError, match="could not compile") as failed:
        warming.wait()
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_a_lack_of_descriptors_passes() -> None:
    turns: list[int] = []

    def work() -> None:
        turns.append(len(turns))
        if len(turns) == 1:
            raise OSError(24, "Too many open files")

    warming = Warming(work)
    warming.wait()
    assert turns == [0, 1]


FIRST_USE = """
import os, sys, threading
import siftcast
from siftcast.matching.tiles.readiness import KERNELS
matcher = siftcast.Matcher()
matcher.add_many((f"s{number}", f"a > {number} AND s LIKE '%x_y%' OR b IN (1, {number})") for number in range(900))
found = matcher.match({"a": 5.5, "s": "axby"})
kinds = {part["kind"] for part in matcher.stats()["segments"]}
child = os.fork()
if child == 0:  # a process forked meanwhile has no thread that compiles, and must not wait for it
    fine = matcher.match({"a": 5.5, "s": "axby"}) == found
    os._exit(0 if fine else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(found == [f"s{number}" for number in range(6)], kinds, KERNELS.ready, KERNELS.compiles, status)
"""


def test_the_first_match_on_a_machine_needs_no_kernel_and_its_end_waits_for_none(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "True {'waiting'} False True 0"
    assert "Traceback" not in done.stderr
