"""The visible loop of a reproduction: sweep on Spark, judge, draw, and write it all down.

    configurations ──▶ sweep (one Spark task each, resumed) ──▶ outcomes ──▶ verdicts, figures ──▶ claims.json, page

A row that was asked for and not judged is an error, because a table without it would look as if all held.

Everything goes into one folder: `results/` (one file per configuration, which lets a run resume), `claims.json`, the
figures, and `<paper>.md`, a page that shows them with an account of each deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from siftcast import spark as ss
from siftcast.experiments.claims import Verdict, write_claims
from siftcast.experiments.study import Figures, Study
from siftcast.model import DataError
from siftcast.spark.sweeps import Outcome, Show, sweep


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came out, and where it lies."""

    study: Study
    verdicts: tuple[Verdict, ...]
    folder: Path
    page: Path
    configurations: int
    seconds: float
    """Summed over configurations, whenever they ran."""


Sweeping = Callable[[], list[Outcome]]


def run_plainly(_spark: ss.SparkSession, sweeping: Sweeping) -> list[Outcome]:
    """Runs the sweep as it is; a command runs it so that Ctrl-C ends it in order."""
    return sweeping()


def reproduce(
    study: Study,
    folder: str | Path,
    *,
    quick: bool = False,
    figure: str | None = None,
    show: Show | None = None,
    through: Callable[[ss.SparkSession, Sweeping], list[Outcome]] = run_plainly,
) -> Reproduction:
    """Regenerates the rows of a paper; a second call reuses what is there. The sweep is run `through` what is given."""
    target = Path(folder)
    configurations = study.configurations(quick, figure)
    session = ss.session(f"siftcast reproduce {study.name}")
    results = target / "results"
    outcomes = through(
        session, lambda: sweep(session, study.function, configurations, results, version=study.version, show=show)
    )
    verdicts = study.judge(outcomes)
    figures = study.draw(outcomes, target)
    write_claims(verdicts, target / "claims.json")
    seconds = sum(outcome.seconds for outcome in outcomes)
    page = target / f"{study.name}.md"
    page.write_text(_page(study, verdicts, figures, outcomes, quick=quick))
    judged = {item.id.partition(" ")[0] for item in verdicts}
    unjudged = [row for row in (study.figures if figure is None else (figure,)) if row not in judged]
    if unjudged:
        raise DataError(f"nothing was measured that {study.name} {', '.join(unjudged)} could be judged by")
    return Reproduction(study, tuple(verdicts), target, page, len(outcomes), seconds)


def _page(
    study: Study, verdicts: Sequence[Verdict], figures: Figures, outcomes: Sequence[Outcome], *, quick: bool
) -> str:
    judged = [item for item in verdicts if item.holds is not None]
    held = sum(bool(item.holds) for item in judged)
    spent = sum(outcome.seconds for outcome in outcomes)
    size = "a quick run on few seeds and small sizes; the numbers are rough" if quick else "the full run"
    lines = [
        f"# {study.title}: reproduced",
        "",
        f"Written by `siftcast reproduce {study.name}{' --quick' if quick else ''}` ({size}): {len(outcomes)} "
        f"configurations, {spent / 60:.0f} minutes of one core. {held} of {len(judged)} judged rows hold.",
        "",
        "| row | claim | judged | paper | ours | spread | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {item.id} | {item.claim} | {item.judged} | {item.paper} | {item.ours} | {item.spread} | "
        f"{'**' + item.verdict + '**' if item.holds is False else item.verdict} |"
        for item in verdicts
    ]
    notes = [f"- **{item.id}** {item.note}" for item in verdicts if item.note]
    if notes:
        lines += ["", "## Row by row", "", *notes]
    lines += ["", study.account.strip(), ""]
    for file, caption in figures.items():
        lines += [f"## {caption}", "", f"![{caption}]({file})", ""]
    return "\n".join(lines).rstrip() + "\n"
