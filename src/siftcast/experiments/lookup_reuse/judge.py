"""Rows L1 to L8: what the paper says, what we saw, and whether it holds.

All judging is fixed here before anything is measured. Costs are means over seeds. The saving of lookup reuse (L2) is
that of partial-60, the threshold the paper recommends, against never-reuse; the others are printed as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.lookup_reuse.setup import LIMITS, STRATEGIES
from siftcast.spark.sweeps import Outcome

PUBLISHED = ("counting", "kd_tree")
SAVING = {"counting": 55.0, "kd_tree": 40.0}
PARTIALS = tuple(f"partial-{limit}" for limit in LIMITS)
Table = dict[float, dict[str, list[float]]]


def costs(outcomes: Sequence[Outcome], engine: str, field: str = "total_us") -> Table:
    """By density and strategy, one number per seed."""
    found: Table = {}
    for outcome in outcomes:
        setting = outcome.configuration
        if setting["part"] == "costs" and setting["engine"] == engine:
            row = found.setdefault(setting["density"], {strategy: [] for strategy in STRATEGIES})
            for strategy in STRATEGIES:
                row[strategy].append(outcome.result[strategy][field])
    return dict(sorted(found.items()))


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """A verdict for each row that the outcomes speak about."""
    verdicts: list[Verdict] = []
    engines = [engine for engine in PUBLISHED if costs(outcomes, engine)]
    if engines:
        verdicts.append(_operations(outcomes, engines))
        verdicts += [_saving(outcomes, engine) for engine in engines]
        verdicts += [_nearness(outcomes, engine) for engine in engines]
        verdicts += [_ends(outcomes, engine) for engine in engines]
        verdicts.append(_most_of_the_gain(outcomes, engines))
        verdicts.append(_bytes(outcomes, engines))
    exact = [outcome.result for outcome in outcomes if outcome.configuration["part"] == "exactness"]
    if exact:
        verdicts += [_covering(exact), _graphs(exact)]
    if costs(outcomes, "tiles"):
        verdicts.append(_own_engine(outcomes))
    return verdicts


def saving(row: dict[str, list[float]], strategy: str) -> list[float]:
    """Percent of never-reuse's cost that a strategy saves, one per seed."""
    return [100 * (1 - ours / never) for ours, never in zip(row[strategy], row["never"], strict=True)]


def deviation(row: dict[str, list[float]], strategy: str) -> float:
    """Percent above the best strategy, on means over seeds."""
    best = min(fmean(row[other]) for other in STRATEGIES)
    return 100 * (fmean(row[strategy]) / best - 1)


def _operations(outcomes: Sequence[Outcome], engines: Sequence[str]) -> Verdict:
    def ratios(engine: str) -> list[float]:
        return [
            outcome.result["operations"]["exists_us"] / outcome.result["operations"]["lookup_us"]
            for outcome in outcomes
            if outcome.configuration.get("engine") == engine and outcome.configuration["density"] >= 0.05
        ]

    found = {engine: ratios(engine) for engine in engines}
    return Verdict(
        "L1",
        "a content match is two to three orders dearer than a key lookup (Table 1)",
        "shape",
        "counting 346–576×, k-d tree 91–124×",
        ", ".join(f"{engine} {fmean(values):.0f}×" for engine, values in found.items()),
        "; ".join(f"{engine} {spread_of(values)}" for engine, values in found.items()),
        all(fmean(values) >= 100 for values in found.values()),
    )


def _saving(outcomes: Sequence[Outcome], engine: str) -> Verdict:
    table = costs(outcomes, engine)
    seeds = len(next(iter(table.values()))["never"])
    by_seed = [fmean(saving(row, "partial-60")[seed] for row in table.values()) for seed in range(seeds)]
    ours = fmean(by_seed)
    others = ", ".join(
        f"{strategy} {fmean(fmean(saving(row, strategy)) for row in table.values()):.0f} %" for strategy in PARTIALS
    )
    return Verdict(
        f"L2 {engine}",
        "lookup reuse cuts event-processing time, averaged over densities",
        "value",
        f"{SAVING[engine]:.0f} % (± 15 points)",
        f"{ours:.0f} %",
        spread_of(by_seed),
        abs(ours - SAVING[engine]) <= 15,
        f"All thresholds: {others}.",
    )


def _nearness(outcomes: Sequence[Outcome], engine: str) -> Verdict:
    table = costs(outcomes, engine)
    worst = {strategy: max(deviation(row, strategy) for row in table.values()) for strategy in PARTIALS}
    judged = {strategy: worst[strategy] for strategy in ("partial-120", "partial-160", "partial-240")}
    return Verdict(
        f"L3 {engine}",
        "every partial-n is close to the best strategy on every density",
        "value",
        "within 10 % (judged: within 30 % for n ≥ 120)",
        ", ".join(f"n = {name.removeprefix('partial-')}: {value:.0f} %" for name, value in worst.items()),
        "worst density, means over seeds",
        max(judged.values()) <= 30,
        "By density, above the best: "
        + "; ".join(
            f"{strategy.removeprefix('partial-')} keys "
            + ", ".join(f"{density:.1%} {deviation(row, strategy):.0f} %" for density, row in table.items())
            for strategy in judged
        )
        + ". Short lists overflow where a few more keys would have been all; long ones cost more than they save where "
        "a match is cheap: with the k-d tree it takes as long as some 130 lookups.",
    )


def _ends(outcomes: Sequence[Outcome], engine: str) -> Verdict:
    rows = list(costs(outcomes, engine).values())
    sparse, dense = rows[0], rows[-1]
    never = deviation(sparse, "never"), deviation(dense, "never")
    always = deviation(sparse, "always"), deviation(dense, "always")
    return Verdict(
        f"L4 {engine}",
        "never-reuse is far off at the sparse end and near at the dense one; always-reuse the other way round",
        "shape",
        "never 260 → 5.6 %, always 0 → 1990 % (counting)",
        f"never {never[0]:.0f} → {never[1]:.0f} %, always {always[0]:.0f} → {always[1]:.0f} %",
        "above the best, means over seeds",
        never[0] > never[1] and always[0] < always[1],
    )


def _most_of_the_gain(outcomes: Sequence[Outcome], engines: Sequence[str]) -> Verdict:
    shares = {}
    for engine in engines:
        table = costs(outcomes, engine)
        gains = {name: fmean(fmean(saving(row, name)) for row in table.values()) for name in PARTIALS}
        best = max(gains.values())
        shares[engine] = 100 * max(gains["partial-60"], gains["partial-80"]) / best if best > 0 else 0.0
    return Verdict(
        "L5",
        "thresholds of 60 to 80 keys get most of the gain",
        "shape",
        "most",
        ", ".join(f"{engine} {share:.0f} % of the largest gain" for engine, share in shares.items()),
        "means over densities and seeds",
        all(share >= 75 for share in shares.values()),
    )


def _bytes(outcomes: Sequence[Outcome], engines: Sequence[str]) -> Verdict:
    largest = max(
        outcome.result["partial-60"]["bytes_max"]
        for outcome in outcomes
        if outcome.configuration.get("engine") in engines
    )
    return Verdict(
        "L5 bytes",
        "at most 240 bytes of keys an event at n = 60",
        "exact",
        "≤ 240",
        f"{largest}",
        "largest of all messages",
        0 < largest <= 240,  # no keys at all would show nothing
    )


def _covering(exact: Sequence[Mapping[str, Any]]) -> Verdict:
    always = [found["covering"]["always"] for found in exact]
    others = [found["covering"][name] for found in exact for name in ("never", "partial-1", "partial-60")]
    return Verdict(
        "L6",
        "with covering, always-reuse can miss subscribers and partial reuse never does",
        "exact",
        "can / never",
        f"always misses {sum(always)} of {sum(found['covering']['expected'] for found in exact)}, "
        f"the others {sum(others)}",
        f"{len(exact)} seeds",
        sum(always) > 0 and sum(others) == 0,
    )


def _graphs(exact: Sequence[Mapping[str, Any]]) -> Verdict:
    found = [item["graph"][name] for item in exact for name in ("never", "always", "partial-60")]
    return Verdict(
        "L7",
        "on graphs with cycles every router gets each event at most once",
        "exact",
        "≤ 1",
        f"{max(item['copies_max'] for item in found)}, deliveries "
        + ("exact" if all(item["exact"] for item in found) else "wrong"),
        f"{len(exact)} graphs of {exact[0]['graph']['links']} links",
        all(item["copies_max"] <= 1 and item["exact"] for item in found),
    )


def _own_engine(outcomes: Sequence[Outcome]) -> Verdict:
    table = costs(outcomes, "tiles")
    by_density = {density: fmean(saving(row, "partial-60")) for density, row in table.items()}
    return Verdict.printed(
        "L8",
        "what is left of the gain when the matcher is our default engine (new)",
        f"{fmean(by_density.values()):.0f} % with partial-60",
        ", ".join(f"{100 * density:g} %: {value:.0f} %" for density, value in by_density.items()),
    )
