"""Rows C1 to C4 and C7: embeddings and clusters. What must hold was written before full sizes were measured, but for
C2 with uniform events, and for C1, of which one seed had been seen when its second reading was added.

C1   20 dimensions: accuracy with 50 is at most 0.05 better, and with 2 no better; right: entropy ≤ 0.1 and
     accuracy ≥ 0.95 at 20 dimensions
C2   zipf: both methods send fewer false positives than each baseline, and some pair 20 % fewer or more;
     uniform: the gains over CK and the R-tree are smaller than with zipf, NCut's mean gain is above 0
C3   |distributed / centralized - 1| ≤ 10 % with the middle number of groups and 50 % landmarks
C4   50 % landmarks no worse than 10 %, four levels no better than two (slack 2 %); usable: HScore at least 0.9 of
     the centralized one, stress at most 1.5 times
C7   mean accuracy of hierarchical k-means above both others', mean entropy below, on each workload
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.clustering.setup import METHODS, WORKLOADS
from siftcast.experiments.clustering.world import CLUSTERS, SPOTS
from siftcast.experiments.table import Result, Table, mean, values

BASELINES = ("ck", "ov", "ov_rtree")
MEASURE = {"rassoc": "stress", "ncut": "hscore"}
NAMES = {"rassoc": "RAssoc", "ncut": "NCut", "ck": "CK", "ov": "OV", "ov_rtree": "OV-RTree"}
_SLACK = 1.02
_WHY_NOT = {
    SPOTS: "The hot spots share next to no event, so the classes could be told apart; but within a hot spot an event "
    "matches few of the subscriptions, so a large hot spot looks like many clusters. With no more clusters than hot "
    "spots, k-means cuts the large ones first and lets the small ones fall together.",
    CLUSTERS: "RAssoc leaves one large cluster of everything that its strongest directions do not tell apart.",
}

_WHY_NOT_UNIFORM = (
    "A likely reason: where events say nothing that shapes do not, 20 of them know less of a subscription than its "
    "box. The R-tree is loaded from above, too, which packs better than insertion."
)
_WHY_NOT_SELECTION = (
    "A likely reason: our root begins with k-means++ and four restarts, the thesis' with random centres, which leaves "
    "the selection less to improve; and with as many clusters as hot spots (WL2), all depends on which are cut."
)


def judge_dimensions(table: Table) -> list[Verdict]:
    """C1, with both readings of how many clusters there are."""
    if not table("dimensions"):
        return []
    runs = {
        (workload, clusters, method): table(
            "dimensions", workload=workload, clusters=clusters, method=method, hot_share=1.0
        )
        for workload, clusters in (("WL1", CLUSTERS), ("WL2", SPOTS), ("WL2", CLUSTERS))
        for method in METHODS
    }
    few, enough, many = (
        {key: mean(each, "by_dimensions", count, "accuracy") for key, each in runs.items()}
        for count in ("2", "20", "50")
    )
    judged = [key for key in runs if key[1] == CLUSTERS]
    suffices = all(many[key] <= enough[key] + 0.05 and few[key] <= enough[key] for key in judged)
    shown = "; ".join(
        f"{workload} {NAMES[method]} {few[key]:.2f}/{enough[key]:.2f}/{many[key]:.2f}"
        for key in judged
        for workload, _, method in [key]
    )
    verdicts = [
        Verdict(
            "C1 dimensions",
            "20 dimensions suffice",
            "shape",
            "quality grows up to 20 dimensions",
            f"accuracy with 2/20/50 dimensions: {shown}",
            spread_of(values(runs["WL2", CLUSTERS, "ncut"], "by_dimensions", "20", "accuracy")),
            suffices,
        )
    ]
    for clusters, reading in ((SPOTS, "as many clusters as hot spots"), (CLUSTERS, "50 clusters, Table 3.1")):
        verdicts.append(_right(clusters, reading, {method: runs["WL2", clusters, method] for method in METHODS}))
    return [*verdicts, _readings(table, runs["WL2", SPOTS, "ncut"])]


def _right(clusters: int, reading: str, runs: dict[str, list[Result]]) -> Verdict:
    disorder = {method: mean(each, "by_dimensions", "20", "entropy") for method, each in runs.items()}
    right = {method: mean(each, "by_dimensions", "20", "accuracy") for method, each in runs.items()}
    held = all(disorder[each] <= 0.1 and right[each] >= 0.95 for each in METHODS)
    return Verdict(
        f"C1 {clusters} clusters",
        f"on WL2 nearly every subscription is clustered right ({reading})",
        "shape",
        "entropy → 0, accuracy → 1",
        "; ".join(f"{NAMES[each]}: entropy {disorder[each]:.2f}, accuracy {right[each]:.2f}" for each in METHODS),
        spread_of(values(runs["rassoc"], "by_dimensions", "20", "accuracy")) + " (RAssoc's accuracy)",
        held,
        note="" if held else _WHY_NOT[clusters],
    )


def _readings(table: Table, runs: list[Result]) -> Verdict:
    background = {
        method: mean(
            table("dimensions", workload="WL2", clusters=SPOTS, method=method, hot_share=0.8),
            "by_dimensions", "20", "accuracy",
        )
        for method in METHODS
    }  # fmt: skip
    uniform = table("dimensions", workload="WL1", method="ncut")
    shown = {
        "repaired kernel": mean(runs, "by_dimensions", "20", "accuracy"),
        "printed kernel on edges": mean(runs, "printed_edges", "accuracy"),
        "printed kernel on all pairs": mean(runs, "printed_all_pairs", "accuracy"),
        "k-means by distance": mean(runs, "by_distance", "accuracy"),
        "WL1, repaired kernel": mean(uniform, "by_dimensions", "20", "accuracy"),
        "WL1, printed kernel on all pairs": mean(uniform, "printed_all_pairs", "accuracy"),
        "WL1, two runs of k-means on what is not reduced": mean(uniform, "unreduced", "accuracy"),
        "80/20 hot spots, RAssoc": background["rassoc"],
        "80/20 hot spots, NCut": background["ncut"],
    }
    return Verdict.printed(
        "C1 readings",
        "accuracy under other readings (NCut, 5 clusters, WL2 unless said)",
        "; ".join(f"{name} {value:.2f}" for name, value in shown.items()),
        f"means over {len(runs)} seeds",
    )


def gains(runs: Sequence[Result], method: str, baseline: str, when: str = "later") -> list[float]:
    """Percent of a baseline's false positives that a method saves, one per seed."""
    return [100 * (1 - run[method][when] / max(run[baseline][when], 1)) for run in runs]


def judge_false_positives(table: Table) -> list[Verdict]:
    """C2, for events that were not seen when the clusters were made."""
    runs = {kind: table("false_positives", event_distribution=kind) for kind in ("hotspots", "uniform")}
    if not all(runs.values()):
        return []
    at = {
        (kind, method, baseline): fmean(gains(each, method, baseline))
        for kind, each in runs.items()
        for method in METHODS
        for baseline in BASELINES
    }

    def shown(kind: str) -> str:
        return "; ".join(
            f"{NAMES[method]} {'/'.join(f'{at[kind, method, baseline]:.0f}' for baseline in BASELINES)} %"
            for method in METHODS
        )

    zipf = [at["hotspots", method, baseline] for method in METHODS for baseline in BASELINES]
    smaller = all(
        at["uniform", method, baseline] < at["hotspots", method, baseline]
        for method in METHODS
        for baseline in ("ck", "ov_rtree")
    )
    held = smaller and min(at["uniform", method, baseline] for method in METHODS for baseline in BASELINES) > 0
    return [
        Verdict(
            "C2 zipf",
            "fewer false positives than CK/OV/OV-RTree, zipf events",
            "shape",
            "up to 30 % fewer",
            shown("hotspots"),
            spread_of(gains(runs["hotspots"], "rassoc", "ov_rtree")) + " (RAssoc over OV-RTree)",
            min(zipf) > 0 and max(zipf) >= 20,
        ),
        Verdict(
            "C2 uniform",
            "fewer false positives than CK/OV/OV-RTree, uniform events",
            "shape",
            "NCut 6–9 % fewer, RAssoc < 5 %",
            shown("uniform"),
            spread_of(gains(runs["uniform"], "ncut", "ov_rtree")) + " (NCut over OV-RTree)",
            held,
            note="" if held else _WHY_NOT_UNIFORM,
        ),
        _seen(runs),
    ]


def _seen(runs: dict[str, list[Result]]) -> Verdict:
    parts = []
    for kind, name in (("hotspots", "zipf"), ("uniform", "uniform")):
        for method in METHODS:
            seen = fmean(gains(runs[kind], method, "ov_rtree", "seen"))
            literal = fmean(gains(runs[kind], f"{method}_by_distance", "ov_rtree"))
            parts.append(f"{name} {NAMES[method]}: {seen:.0f} % on the events seen, {literal:.0f} % by distance")
    return Verdict.printed(
        "C2 readings",
        "the gain over OV-RTree on the events that clusters were made from, and with k-means by distance",
        "; ".join(parts),
        f"means over {len(runs['uniform'])} seeds",
    )


def judge_embedding(table: Table) -> list[Verdict]:
    """C3 and C4."""
    if not table("embedding"):
        return []
    near = [_closeness(table, method) for method in METHODS]
    return [*near, *(_trends(table, method) for method in METHODS)]


def _closeness(table: Table, method: str) -> Verdict:
    measure, parts, off, printed, wide = MEASURE[method], [], [], [], []
    spread = ""
    for workload in WORKLOADS:
        runs = table("embedding", workload=workload, method=method)
        counts = list(runs[0]["by_groups"])
        middle = counts[len(counts) // 2]
        central = mean(runs, "central", measure)
        found = mean(runs, "by_groups", middle, measure)
        off.append(abs(found / central - 1))
        parts.append(f"{workload} {found:.3f} beside {central:.3f} ({middle} groups)")
        printed.append(f"{workload} {mean(runs, 'as_printed', measure):.3f}")
        wide.append(f"{workload} {mean(runs, 'wide', measure):.3f}")
        spread = spread_of(values(runs, "by_groups", middle, measure))
    return Verdict(
        f"C3 {NAMES[method]}",
        f"two levels are as good as centralized ({'stress' if method == 'rassoc' else 'HScore, η = 50'})",
        "value",
        "nearly the same",
        "; ".join(parts),
        f"{spread} (WL2)",
        max(off) <= 0.1,
        note=f"Projections as printed: {', '.join(printed)}. With 100 local dimensions, projected onto the same 20 "
        f"global ones: {', '.join(wide)}.",
    )


def _trends(table: Table, method: str) -> Verdict:
    measure, broken, parts, usable = MEASURE[method], [], [], True
    sign = -1 if method == "rassoc" else 1
    for workload in WORKLOADS:
        runs = table("embedding", workload=workload, method=method)
        shapes = runs[0]["by_levels"]
        shares = list(next(iter(shapes.values())))
        at = {(height, share): mean(runs, "by_levels", height, share, measure) for height in shapes for share in shares}
        broken += [
            f"{workload}, {height} levels"
            for height in shapes
            if _worse(at[height, shares[-1]], at[height, shares[0]], sign)
        ]
        broken += [f"{workload}, {share} landmarks" for share in shares if _worse(at["2", share], at["4", share], sign)]
        central = mean(runs, "central", measure)
        deep = at["4", "0.3"]
        usable = usable and (deep >= 0.9 * central if sign > 0 else deep <= 1.5 * central)
        parts.append(
            f"{workload}: {central:.3f} centralized, {at['2', '0.3']:.3f} with two levels, {deep:.3f} with four"
        )
    more = f"; not so: {', '.join(broken)}" if broken else ""
    return Verdict(
        f"C4 {NAMES[method]}",
        "accuracy grows with landmarks and falls with levels; four levels at 30 % stay usable "
        f"({'stress' if sign < 0 else 'HScore'})",
        "shape",
        "slightly worse with four levels",
        "; ".join(parts) + more,
        f"means over {len(table('embedding', workload='WL2', method=method))} seeds",
        not broken and usable,
        note="" if usable else "With four levels and 30 % landmarks the root embeds 2.7 % of the subscriptions.",
    )


def _worse(one: float, other: float, sign: int) -> bool:
    """Whether the one is worse than the other by more than the slack; with sign -1 small is good."""
    return one * _SLACK < other if sign > 0 else one > other * _SLACK


def judge_kmeans(table: Table) -> list[Verdict]:
    """C7, over all landmarks and levels."""
    if not table("kmeans"):
        return []
    held, parts = True, []
    spread: list[float] = []
    for workload in WORKLOADS:
        runs = [run for method in METHODS for run in table("kmeans", workload=workload, method=method)]
        cells = [cell for run in runs for part in ("by_landmarks", "by_levels") for cell in run[part].values()]
        names = list(cells[0])
        right = {name: fmean(cell[name]["accuracy"] for cell in cells) for name in names}
        disorder = {name: fmean(cell[name]["entropy"] for cell in cells) for name in names}
        others = [name for name in names if name != "hierarchical"]
        held = held and all(right["hierarchical"] > right[name] for name in others)
        held = held and all(disorder["hierarchical"] < disorder[name] for name in others)
        shown = ", ".join(f"{name} {right[name]:.3f}/{disorder[name]:.3f}" for name in names)
        parts.append(f"{workload}: {shown}")
        spread = [cell["hierarchical"]["accuracy"] - cell["hp2pc"]["accuracy"] for cell in cells]
    return [
        Verdict(
            "C7",
            "hierarchical k-means with selection beats HP2PC and sampling (accuracy/entropy)",
            "shape",
            "better",
            "; ".join(parts),
            f"{spread_of(spread)[: spread_of(spread).find(' over')]} over {len(spread)} cells (gain over HP2PC, WL2)",
            held,
            note="" if held else _WHY_NOT_SELECTION,
        )
    ]
