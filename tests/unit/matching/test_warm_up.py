"""The first use of the default engine has every kernel compiled or loaded: no later event or addition waits for one."""

import subprocess
import sys

PROGRAM = """
import numpy as np
import pyarrow as pa
from siftcast import Matcher
from siftcast.matching.tiles.compiling import _kernels

def ready():
    return {kernel.py_func.__name__: len(kernel.signatures) for kernel in _kernels}

Matcher.from_arrow(pa.table({"id": ["a"], "x": [1.0]}))
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
print(*(name for name, count in ready().items() if count > after_first_use[name]))
"""


def test_nothing_is_compiled_after_the_first_use() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
