"""The first minute on a machine: a process that finds no compiled kernel.

A match must not wait for the compiler, nor a client of a node. What compiling takes is set beside a yardstick: ten
small loops, compiled by the same Numba in the same process. Seconds differ from machine to machine, the ratio hardly
does. It was `BEFORE` when pieces of kernels were compiled anew for every constant; half of that is the goal.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings

BEFORE = 33.6
GOAL_FIRST_S, GOAL_WAIT_S = 1.0, 1.0

MATCHES = """
import json, sys, time
import siftcast
filters = int(sys.argv[1])
texts = [f"a > {n % 90} AND b < {n % 70} AND s = 'x{n % 50}' OR a IN ({n}, {n + 1})" for n in range(filters)]
matcher, oracle = siftcast.Matcher(), siftcast.Matcher("brute_force")
matcher.add_many((str(n), text) for n, text in enumerate(texts))
event = {"a": 60.5, "b": 5, "s": "x3"}
start = time.perf_counter()
found = matcher.match(event)
first_s = time.perf_counter() - start
waiting = [part["kind"] for part in matcher.stats()["segments"]]
oracle.add_many((str(n), text) for n, text in enumerate(texts))
print(json.dumps({"first_s": first_s, "right": found == oracle.match(event), "kinds": waiting}))
sys.stdout.flush()
"""
COMPILES = """
import json, time
import numba, numpy
from siftcast.matching import wait_until_prepared
import siftcast.matching.tiles.exercise

def yardstick():
    made = []
    for _ in range(10):
        def loop(values):
            total = 0
            counts = numpy.empty(len(values), numpy.int64)
            for place in range(len(values)):
                total += values[place] * 2
                counts[place] = total
            return counts
        made.append(numba.njit(loop))
    for each in made:
        each(numpy.zeros(3, numpy.int64))

yardstick()  # what Numba imports is its own affair
start = time.process_time()
yardstick()
middle = time.process_time()
wait_until_prepared()
print(json.dumps({"yardstick_s": middle - start, "kernels_s": time.process_time() - middle}))
"""


def run(settings: Settings, report: Report) -> None:
    """Measures with an empty cache, each time in a process of its own."""
    filters = settings.size(5_000, 1_000)
    report.progress(f"first use: {filters:,} filters, no kernel on disk")
    told = _new_process(MATCHES, str(filters))
    check_equal("first use, answer", told["right"], True)
    check_equal("first use, without an index", set(told["kinds"]), {"waiting"})
    report.add(
        "first match on an empty cache", told["first_s"], "s", "lower", goal=GOAL_FIRST_S, note=f"{filters:,} filters"
    )
    told = _new_process(COMPILES)
    ratio = told["kernels_s"] / told["yardstick_s"]
    report.add("compile all kernels", ratio, "× ten loops", "lower", goal=BEFORE / 2, note="processor time")
    report.add("compile all kernels, time", told["kernels_s"], "s", "lower")
    with tempfile.TemporaryDirectory() as folder:
        longest_s = asyncio.run(_longest_wait_s(folder, settings.size(1_000, 400)))
    report.add("longest wait for a node that compiles", longest_s, "s", "lower", goal=GOAL_WAIT_S, note="publishing")


def _new_process(program: str, *arguments: str) -> dict[str, object] | dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": folder}, stdout=subprocess.PIPE, check=True)
    told: dict[str, object] = json.loads(done.stdout)
    return told


async def _longest_wait_s(folder: str, filters: int) -> float:
    """How long a client waited at most, while a node took more filters than it asks one by one and compiled."""
    import siftcast

    node = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "siftcast", "serve", "--listen", "127.0.0.1:0"),
        env=os.environ | {"NUMBA_CACHE_DIR": folder},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert node.stdout is not None
    url = (await node.stdout.readline()).decode().split()[-1]
    longest_s = 0.0
    async with siftcast.connect(url) as bus:
        streams = [bus.subscribe(f"a = {number} AND b < {number % 9}") for number in range(filters)]
        for stream in streams:
            await stream.__aenter__()
        compiled = 0
        while compiled < 30:  # a kernel more on disk each time something was compiled; 30 are the most of them
            start = time.perf_counter()
            await bus.publish({"a": filters, "b": 0})
            longest_s = max(longest_s, time.perf_counter() - start)
            await asyncio.sleep(0.01)
            compiled = len(list(Path(folder).rglob("*.nbi")))
    node.terminate()
    await node.wait()
    return longest_s
