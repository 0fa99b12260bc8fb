"""Compare the quick benchmarks of two git refs, and say which differences are more than noise.

Each side runs from its own sources: a ref in a temporary git worktree, the work tree where it stands, both
with the Python and the packages of this environment. The sides take turns, so that a machine that warms up
or gets busy slows both, and which side goes first changes from round to round. A difference of medians
counts only when it exceeds the combined spread: half the range of the one side plus half the range of the
other. With a handful of runs a finer statistic would promise more than the data hold.

A side is asked with `python -m benchmarks [GROUP …] --quick --json FILE` and must write

    {"results": [{"name": "match/counting", "value": 12.5, "unit": "ms", "better": "lower"}, …]}

where `better` is "lower" or "higher". Names that only one side knows are listed, not compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Measure:
    """One benchmark's values over all runs of one side."""

    values: tuple[float, ...]
    unit: str
    better: str

    @property
    def middle(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> float:
        return (max(self.values) - min(self.values)) / 2


def judge(base: Measure, head: Measure) -> str:
    """Say whether head is better or worse than base, or not to be told from it."""
    difference = head.middle - base.middle
    if abs(difference) <= base.spread + head.spread:
        return "noise"
    return "better" if (difference < 0) == (head.better == "lower") else "WORSE"


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}\n{result.stderr.strip()}")
    return result.stdout.strip()


@contextmanager
def checked_out(ref: str | None) -> Iterator[Path]:
    """The folder of a ref, in a worktree that is removed again; None is the work tree itself."""
    if ref is None:
        yield ROOT
        return
    commit = git("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="siftcast-bench-") as room:
        folder = Path(room) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def run_once(folder: Path, label: str, groups: list[str]) -> list[dict[str, object]]:
    """Run one side's quick benchmarks and return what it measured."""
    if not (folder / "benchmarks").is_dir():
        raise SystemExit(f"{label} has no benchmarks/ to run")
    with tempfile.TemporaryDirectory(prefix="siftcast-bench-") as room:
        output = Path(room) / "results.json"
        command = [sys.executable, "-m", "benchmarks", *groups, "--quick", "--json", str(output)]
        # The environment holds an editable install of the work tree; PYTHONPATH comes before it.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"the benchmarks of {label} failed:\n{result.stdout}{result.stderr}")
        results: list[dict[str, object]] = json.loads(output.read_text(encoding="utf-8"))["results"]
        return results


def collect(runs: list[list[dict[str, object]]]) -> dict[str, Measure]:
    """Turn runs of results into one measure a name; a name counts when every run has it."""
    by_name = [{str(result["name"]): result for result in run} for run in runs]
    names = [name for name in by_name[0] if all(name in run for run in by_name)]
    return {
        name: Measure(
            values=tuple(float(str(run[name]["value"])) for run in by_name),
            unit=str(by_name[0][name].get("unit", "")),  # ratios have none
            better=str(by_name[0][name]["better"]),
        )
        for name in names
    }


def render(base: dict[str, Measure], head: dict[str, Measure]) -> Iterator[str]:
    """The lines of the comparison, in the order of the head's benchmarks."""
    shared = [name for name in head if name in base]
    width = max([len(name) for name in shared], default=0)
    for name in shared:
        before, after = base[name], head[name]
        change = f"{(after.middle / before.middle - 1):+8.1%}" if before.middle else "     n/a"
        yield (
            f"{name:{width}}  {before.middle:12.4g} ±{before.spread:<9.2g} → {after.middle:12.4g} "
            f"±{after.spread:<9.2g} {after.unit:8} {change}  {judge(before, after)}"
        )
    for label, side, other in (("base", base, head), ("head", head, base)):
        if only := [name for name in side if name not in other]:
            yield f"only in {label}: {', '.join(only)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the quick benchmarks of two git refs.")
    parser.add_argument("base", help="the ref to compare with")
    parser.add_argument("head", nargs="?", help="the ref to judge; the work tree unless named")
    parser.add_argument(
        "--group", action="append", default=[], help="a group of benchmarks, or several; all unless named"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each side, at least 3 (default: 5)")
    options = parser.parse_args()
    if options.runs < 3:
        parser.error("--runs: a spread needs at least 3 runs")

    base_runs: list[list[dict[str, object]]] = []
    head_runs: list[list[dict[str, object]]] = []
    with checked_out(options.base) as base_folder, checked_out(options.head) as head_folder:
        sides = [
            (base_folder, options.base, base_runs),
            (head_folder, options.head or "the work tree", head_runs),
        ]
        for number in range(options.runs):
            print(f"round {number + 1} of {options.runs}", file=sys.stderr, flush=True)
            for folder, label, runs in sides if number % 2 == 0 else reversed(sides):
                runs.append(run_once(folder, label, options.group))
    for line in render(collect(base_runs), collect(head_runs)):
        print(line)


if __name__ == "__main__":
    main()
