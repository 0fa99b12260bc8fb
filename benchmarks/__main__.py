"""Runs the benchmarks: `python -m benchmarks [GROUP …] [--quick] [--json FILE] [--markdown FILE]`.

A missed goal is reported, not punished, but for those that are required (`limits`): these and wrong answers end the
run with status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.groups import GROUPS, USUAL_GROUPS, measure


def main() -> int:
    options = _parse(sys.argv[1:])
    # One thread for everybody. Numba reads this when it is imported, which is why nothing above imports it.
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")

    from rich.console import Console

    from benchmarks.exactness import WrongResult
    from benchmarks.machine import this_machine
    from benchmarks.report import Report
    from benchmarks.settings import Settings

    settings = Settings(quick=options.quick, seed=options.seed, output=options.output)
    report = Report(this_machine())
    report.progress(report.machine.describe())
    try:
        for group in options.groups or USUAL_GROUPS:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                results, comparisons = process.submit(measure, group, settings, report.started).result()
            report.results += results
            report.comparisons += comparisons
    except WrongResult as error:
        report.console.print(f"[red]WRONG RESULT[/red] {error}")
        return 1
    report.progress("done")
    # A terminal's width where there is one; enough for every column where the output goes to a file.
    report.print_tables(Console() if sys.stdout.isatty() else Console(width=160))
    if options.quick and report.results:
        sys.stdout.write("These were the quick sizes; the goals are for the full ones.\n")
    sys.stdout.flush()
    if options.json:
        report.write_json(options.json)
    if options.markdown:
        options.markdown.write_text(report.to_markdown(), encoding="utf-8")
    for result in report.failed:
        sys.stderr.write(f"FAILED {result.name}: {result.shown}, goal {result.goal_shown}; {result.note}\n")
    return 1 if report.failed else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Siftcast beside its peers.")
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"{', '.join(GROUPS)}; all but the last five unless named"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, less than a minute in all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as Markdown to a file")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/figures"), metavar="FOLDER", help="where curves go (docs/figures)"
    )
    options = parser.parse_args(arguments)
    if unknown := [group for group in options.groups if group not in GROUPS]:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
