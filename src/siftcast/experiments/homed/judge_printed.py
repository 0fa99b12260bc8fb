"""Rows that need no network: digests (H1), the example (H2), and what the printed algorithms come to (H3 to H5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table, values
from siftcast.space.digests import DIGEST_KINDS

SHOWN = {
    "route": "100",
    "parts": ["100 to 101: 1*1", "100 to 110: 110", "101 to 111: 111"],
    "receipts": {"101": 1, "110": 1, "111": 1},
}
"""What figure 2 of the paper shows."""
_BROADCAST = 15


def judge_covering(table: Table) -> list[Verdict]:
    """H1: a law each kind of digest keeps in all pairs and events that were drawn."""
    runs = table("covering")
    if not runs:
        return []
    pairs, events = (int(sum(values(runs, name))) for name in ("pairs", "events"))
    verdicts = []
    for kind in DIGEST_KINDS:
        broken = int(sum(values(runs, kind)))
        verdicts.append(
            Verdict(
                f"H1 {kind}",
                "if β covers α, digest(β) ⊇ digest(α); if f matches e, digest(e) ⊆ digest(f)",
                "exact",
                "the unique requirement of the ID function",
                f"{broken} of {pairs:,} pairs and {events:,} events break it",
                f"{len(runs)} seeds",
                broken == 0 and min(values(runs, "pairs")) > 0 and min(values(runs, "events")) > 0,
            )
        )
    shares = [100 * run["predicates"] / max(run["pairs"], 1) for run in runs]
    verdicts.append(
        Verdict.printed(
            "H1 predicates",
            "digests that hash what a filter says of an attribute as a whole break the law",
            f"{fmean(shares):.0f} % of the pairs",
            spread_of(shares),
        )
    )
    return verdicts


def judge_example(table: Table) -> list[Verdict]:
    """H2: the figure, with the prose's rule; as printed, beside it."""
    found = table("example")
    if not found:
        return []
    run = found[0]
    shrinking, printed = run["shrinking"], run["printed"]
    return [
        Verdict(
            "H2",
            "event 1** from 000 goes to 100 and is multicast from there by splitting",
            "exact",
            "100; 101 gets 1*1 and 110 gets 110; 111 from 101",
            f"{run['route']}; {'; '.join(shrinking['parts'])}",
            "one example",
            run["route"] == SHOWN["route"]
            and all(shrinking[name] == SHOWN[name] for name in ("parts", "receipts"))
            and shrinking["broadcast"] == _BROADCAST,
            "The sender gives away the part that it hands on, as the prose says. A broadcast in four dimensions takes "
            f"{shrinking['broadcast']} messages so.",
        ),
        Verdict.printed(
            "H2 printed",
            "Algorithm 2.2 to the letter, where the sender keeps all of its part",
            f"111 is delivered {printed['receipts'].get('111', 0)} times; a broadcast in four dimensions takes "
            f"{printed['broadcast']} messages instead of {_BROADCAST}",
            "one example",
        ),
    ]


def judge_printed(table: Table) -> list[Verdict]:
    """What comes of Algorithms 2.1 to 2.4 on full cubes (judged, H4) and on sparse ones (printed)."""
    runs = table("printed")
    if not runs:
        return []
    full = [run for run in runs if run["filled"] == 1]
    sparse = [run for run in runs if run["filled"] < 1]
    verdicts = []
    if full:
        missed = 100 * max(share for run in full for share in _missed(run))
        stuck, repeated = 100 * max(values(full, "stuck_events")), sum(values(full, "repeated"))
        verdicts.append(
            Verdict(
                "H4 full cube",
                "with a node at every vertex, Algorithm 2.2 with shrinking reaches all that are interested, once",
                "exact",
                "no node is engaged in the multicast of an event that it is not interested in",
                f"{missed:.0f} % missed, {repeated:.0f} copies too many, {stuck:.0f} % of routes stuck",
                f"{len(full)} seeds",
                missed == 0 and repeated == 0 and stuck == 0,
            )
        )
    if sparse:
        verdicts += [
            Verdict.printed(
                "H3 printed",
                "entries that Algorithm 2.3 leaves empty, tables of others being right",
                _range(sparse, "unfilled"),
                _cubes(sparse),
            ),
            Verdict.printed(
                "H3 printed, piling up",
                "the same for the last quarter where all join so; entries of all that name a wrong node",
                f"{_range(sparse, 'unfilled_late')}; {_range(sparse, 'stale')}",
                _cubes(sparse),
            ),
            Verdict.printed(
                "H4 printed",
                "interested nodes that Algorithm 2.2 misses from an interested node with a right table",
                _range(sparse, _missed_mean),
                _cubes(sparse),
            ),
            Verdict.printed(
                "H4 printed, routes",
                "events that Algorithm 2.1 cannot bring to an interested node; newcomers that do not find their place",
                f"{_range(sparse, 'stuck_events')}; {_range(sparse, 'stuck_newcomers')}",
                _cubes(sparse),
            ),
            Verdict.printed(
                "H5 printed",
                "nodes that take part in a recovery (Algorithm 2.4) and are no neighbours of the lost node; how often "
                "its cover and that of a random heir are a part of the cube together",
                f"{_range(sparse, 'outside', percent=False)} nodes; {_range(sparse, 'joins')}",
                _cubes(sparse),
            ),
        ]
    return verdicts


def by_cube(runs: Sequence[Result], read: str | Callable[[Result], float | None]) -> list[float]:
    """The mean over seeds for each cube."""
    found: dict[str, list[float]] = {}
    for run in runs:
        value = run[read] if isinstance(read, str) else read(run)
        if value is not None:
            found.setdefault(run["cube"], []).append(float(value))
    return [fmean(each) for each in found.values()]


def _missed(run: Result) -> list[float]:
    return [share for share in run["missed"].values() if share is not None]


def _missed_mean(run: Result) -> float | None:
    shares = _missed(run)
    return fmean(shares) if shares else None


def _range(runs: Sequence[Result], read: str | Callable[[Result], float | None], *, percent: bool = True) -> str:
    means = by_cube(runs, read)
    factor, unit = (100, " %") if percent else (1, "")
    low, high = factor * min(means), factor * max(means)
    return f"{low:.2g}–{high:.2g}{unit}"


def _cubes(runs: Sequence[Result]) -> str:
    seeds = max(sum(other["cube"] == run["cube"] for other in runs) for run in runs)
    count = len({run["cube"] for run in runs})
    return f"{count} sparse cubes, {seeds} {'seed' if seeds == 1 else 'seeds'} each"
