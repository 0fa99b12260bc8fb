"""The first use of an engine has every kernel compiled or loaded: no later event or addition waits for one."""

import subprocess
import sys

import pytest

from siftcast.matching import Matcher

BEGIN = """
import numpy as np
import pyarrow as pa
from siftcast import Matcher
from siftcast.matching import wait_until_prepared
from siftcast.matching.compiling import kernels

def ready():
    return {kernel.py_func.__name__: len(kernel.signatures) for kernel in kernels}
"""
END = """
print(*(name for name, count in ready().items() if count > after_first_use[name]))
"""
TILES = """
Matcher.from_arrow(pa.table({"id": ["a"], "x": [1.0]}))
wait_until_prepared()
after_first_use = ready()
rng = np.random.default_rng(1)
lows = rng.uniform(0, 1, (3, 2_000))
ends = {"min": 0, "max": 0.01}
bounds = {f"{name}.{end}": lows[i] + width for i, name in enumerate("xyz") for end, width in ends.items()}
narrow = Matcher.from_arrow(pa.table({"id": [str(i) for i in range(2_000)], **bounds}))
mixed = Matcher()
for i in range(300):
    values = ", ".join(map(str, rng.integers(0, 10**6, 80).tolist()))
    mixed.add(f"list {i}", f"x IN ({values}) AND y > 0")
    mixed.add(f"wide {i}", f"x > 0 AND s LIKE '%a' OR y NOT IN ({values})")
for matcher, ids in ((narrow, "{}"), (mixed, "wide {}")):
    for turn in range(2):
        events = pa.table({"x": rng.uniform(0, 1, 300), "y": rng.uniform(0, 1, 300), "s": ["a"] * 300})
        matcher.match_batch(events), matcher.count_batch(events)
        event = {"x": 0.5, "y": 0.5, "s": "a"}
        matcher.match(event), matcher.match_any(event)
        matcher.remove(ids.format(turn))
        matcher = Matcher.from_bytes(matcher.to_bytes())
"""
LOADED = """
matcher = Matcher.from_bytes(bytes.fromhex("{saved}"))
wait_until_prepared()
after_first_use = ready()
matcher.match({{"x": 1}}), matcher.match_any({{"x": 1}}), matcher.match_batch(pa.table({{"x": [1]}}))
"""
KD_TREE = """
matcher = Matcher("kd_tree")
matcher.add("a", "x > 1")
after_first_use = ready()
for i in range(200):
    matcher.add(str(i), f"x > {i} AND y < {i}")
    if i % 30 == 0:
        matcher.match({"x": 50, "y": 1}), matcher.match_any({"x": 5})
matcher.settle()
matcher.match({"x": 50, "y": 1}, 1)
"""


@pytest.mark.parametrize("program", [TILES, LOADED, KD_TREE], ids=["tiles", "loaded", "kd_tree"])
def test_nothing_is_compiled_after_the_first_use(program: str) -> None:
    if program is LOADED:
        matcher = Matcher()
        matcher.add_many([(f"s{number}", f"x > {number} OR y = 1") for number in range(5)])
        program = program.format(saved=matcher.to_bytes().hex())
    done = subprocess.run([sys.executable, "-c", BEGIN + program + END], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
