"""Rows U6, U7, U9, U10 and U13: core trees. Means are over seeds; costs are beside those of shortest paths (OPT)."""

from __future__ import annotations

from statistics import fmean

from siftcast.experiments.claims import Verdict
from siftcast.experiments.table import Result, Table
from siftcast.experiments.underlay.core_discovery import Rule
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE
from siftcast.experiments.underlay.setup import CORES, FLAT, LAYERED
from siftcast.space.core_scores import STRATEGIES

OURS = ("SPath", "MaxPath", "CNeigh", "SPotent")
SAVED = {"SPotent": 47.0, "CNeigh": 49.0}
SAVED_BAND = 12.0
POTENTIAL_MAX = 1.1
MST_RDP = (1.5, 2.1)
PEAK_MIN = 1.5
_JUDGED_BETAS = (0.0, 1.0)


def _cost(run: Result, strategy: str, cores: int, joined: str = ALL_PAIRS, what: str = "cost") -> float:
    return float(run[f"{strategy} {cores} {joined}"][what])


def _cells(table: Table) -> dict[str, list[Result]]:
    """The runs of each cell that is judged."""
    found = {}
    for ground in (FLAT, LAYERED):
        for degree in ("SQ", "NC"):
            for workload in ("WL1", "WL2"):
                for beta in _JUDGED_BETAS:
                    runs = table("routing", ground=ground, degree=degree, workload=workload, beta=beta)
                    if runs:
                        found[f"{ground} {degree} {workload} β = {beta:g}"] = runs
    return found


def judge_strategies(table: Table) -> list[Verdict]:
    """U6."""
    cells = _cells(table)
    if not cells:
        return []
    lowest = {
        cell: sum(_cost(run, "SPath", 1) <= min(_cost(run, each, 1) for each in STRATEGIES) + 1e-9 for run in runs)
        / len(runs)
        for cell, runs in cells.items()
    }
    one = {each: fmean(fmean(_cost(run, each, 1) for run in runs) for runs in cells.values()) for each in STRATEGIES}
    mst = fmean(fmean(float(run["MST"]["cost"]) for run in runs) for runs in cells.values())
    free = [run for cell, runs in cells.items() if " NC " in cell for run in runs]
    ratio = fmean(_cost(run, "SPotent", 1) / _cost(run, "MaxPath", 1) for run in free)
    most = CORES[-1]
    saved = {
        each: [
            100 - 100 * fmean(_cost(run, each, most) / float(run["MST"]["cost"]) for run in runs)
            for cell, runs in cells.items()
            if cell.startswith(FLAT) and "WL2" in cell
        ]
        for each in SAVED
    }
    shown = ", ".join(f"{each} {cost:.2f}" for each, cost in sorted(one.items(), key=lambda item: item[1]))
    found = [
        Verdict(
            "U6",
            "SPath costs least with one core, and MST more than Rand",
            "shape",
            "SPath best, MST worst",
            f"one core: {shown}; MST {mst:.2f}",
            f"SPath least in {100 * min(lowest.values()):.0f} % of the seeds at least, {len(cells)} cells",
            min(lowest.values()) >= 0.8 and mst > one["Rand"],
            "Costs beside OPT, mean over Waxman and transit-stub, √N neighbours and no limit, WL1 and WL2, β 0 and 1.",
        ),
        Verdict(
            "U6 SPotent",
            "SPotent performs almost as MaxPath does",
            "shape",
            "almost similar",
            f"{ratio:.2f} times the cost of MaxPath with one core",
            "no degree limit",
            ratio <= POTENTIAL_MAX,
            f"Judged: at most {POTENTIAL_MAX}. Weights are in units of the mean link (`cores.py`).",
        ),
    ]
    found += [
        Verdict(
            f"U6 {each}, {most} cores",
            f"what {each} saves against MST with {most} cores",
            "value",
            f"{SAVED[each]:.0f} % (± {SAVED_BAND:.0f})",
            ", ".join(f"{value:.0f} %" for value in values),
            "Waxman, WL2: √N and no limit, β 0 and 1",
            all(abs(value - SAVED[each]) <= SAVED_BAND for value in values),
        )
        for each, values in saved.items()
        if values
    ]
    return found


def judge_algorithm_8(table: Table) -> list[Verdict]:
    """U6: how peers find their cores."""
    runs = table("algorithm 8")
    if not runs:
        return []
    total = {rule: {name: sum(run[rule.name][name] for run in runs) for name in runs[0][rule.name]} for rule in Rule}
    peers = sum(run["peers"] for run in runs)
    reached, pruned = (
        sum(run["REPAIRED"]["cores_joined"] for run in runs),
        sum(run["cores_joined_pruned"] for run in runs),
    )
    cores = sum(run["other_cores"] for run in runs)
    best, printed, others = total[Rule.REPAIRED], total[Rule.PRINTED], total[Rule.OTHERS]
    return [
        Verdict(
            "U6 Algorithm 8",
            "every peer joins its nearest core on a shortest path, and all cores the root core",
            "exact",
            "as Dijkstra finds it",
            f"repaired: {best['right']} of {peers} right, {best['circles']} in circles, {reached} of {cores} cores",
            f"{len(runs)} runs",
            best["right"] == peers and best["circles"] == 0 and reached == cores and printed["joined"] == 0,
            f"As printed nobody joins ({printed['joined']}); compared with other cores only, {others['right']} are "
            f"right and {others['circles']} in circles, with {others['messages'] / best['messages']:.0f} times the "
            f"messages. With messages of the root core dropped like others, {pruned} of {cores} cores hear of it.",
        )
    ]


def judge_cores(table: Table) -> list[Verdict]:
    """U7."""
    cells = _cells(table)
    if not cells:
        return []
    least, some, most = CORES[0], 8, CORES[-1]
    runs = [run for each in cells.values() for run in each]
    pairs, tree = (
        {each: [fmean(_cost(run, each, c, j) for run in runs) for c in CORES] for each in OURS}
        for j in (ALL_PAIRS, ONE_TREE)
    )
    falls = all(each[-1] < each[0] for each in pairs.values())
    rises = all(each[CORES.index(some)] > each[0] for each in tree.values())
    rdp = {
        ground: fmean(
            float(run["MST"]["rdp"]) / _cost(run, "CNeigh", most, ALL_PAIRS, "rdp")
            for cell, each in cells.items()
            if cell.startswith(ground)
            for run in each
        )
        for ground in (FLAT, LAYERED)
    }
    return [
        Verdict(
            "U7",
            "cost falls with cores joined by all shortest paths, and rises with cores joined by one tree",
            "shape",
            "falls; rises",
            "; ".join(
                f"{each}, {joined}: " + " → ".join(f"{cost:.2f}" for cost in costs[each])
                for joined, costs in ((ALL_PAIRS, pairs), (ONE_TREE, tree))
                for each in OURS
            ),
            f"{', '.join(map(str, CORES))} cores",
            falls and rises,
            f"Judged: {most} below {least} with all pairs ({'yes' if falls else 'no'}), {some} above {least} with one "
            f"tree ({'yes' if rises else 'no'}), for each strategy.",
        ),
        Verdict(
            "U7 RDP",
            f"RDP of MST beside CNeigh with {most} cores",
            "shape",
            "93 % more (judged: 50 to 110 %)",
            ", ".join(f"{ground} {100 * ratio - 100:.0f} % more" for ground, ratio in rdp.items()),
            f"{len(runs)} runs",
            all(MST_RDP[0] <= ratio <= MST_RDP[1] for ratio in rdp.values()),
        ),
    ]


def judge_control(table: Table) -> list[Verdict]:
    """U9."""
    cells = _cells(table)
    if not cells:
        return []
    runs = [run for each in cells.values() for run in each]
    found = {
        each: [fmean(_cost(run, each, c, ONE_TREE, "efficiency") for run in runs) for c in (CORES[0], CORES[-1])]
        for each in OURS
    }
    mst = fmean(float(run["MST"]["efficiency"]) for run in runs)
    crossed = {each: fmean(_cost(run, each, 1, ONE_TREE, "messages") for run in runs) for each in OURS}
    return [
        Verdict(
            "U9",
            "all messages per delivery grow with cores, and MST has more",
            "shape",
            "grow; MST worse",
            "; ".join(f"{each} {one:.2f} → {other:.2f}" for each, (one, other) in found.items()) + f"; MST {mst:.2f}",
            f"{CORES[0]} and {CORES[-1]} cores",
            all(other > one for one, other in found.values()) and mst > max(one for one, _ in found.values()),
            "Messages of events alone, per delivery, one core: "
            + ", ".join(f"{each} {count:.2f}" for each, count in crossed.items())
            + f"; MST {fmean(float(run['MST']['messages']) for run in runs):.2f}.",
        )
    ]


def judge_changing(table: Table) -> list[Verdict]:
    """U10."""
    runs = [(asked, run) for asked, run in table.pairs("changing") if asked["share"] > 0]
    if not runs:
        return []
    worse, mended, peaks = [], [], []
    for _, run in runs:
        at, costs, control = run["rebuild_step"], run["costs"], run["control"]
        first, before, after = fmean(costs[: at // 4]), fmean(costs[at - at // 4 : at]), fmean(costs[at : at + at // 4])
        worse.append(before / first)
        mended.append(after / before)
        others = [count for step, count in enumerate(control) if step not in (0, at)]
        peaks.append(control[at] / fmean(others))
    lost = sum(run["lost"] for _, run in runs)
    return [
        Verdict(
            "U10",
            "under churn the cost of routing rises, and falls with a rebuild, which has a peak of control messages",
            "shape",
            "rises, falls, peaks",
            f"cost × {fmean(worse):.2f} until the rebuild, × {fmean(mended):.2f} by it; control × {fmean(peaks):.1f}",
            f"{len(runs)} runs",
            fmean(worse) > 1 and fmean(mended) < 1 and fmean(peaks) >= PEAK_MIN,
            f"{lost} deliveries had no way, because the overlay was cut.",
        )
    ]


def judge_workloads(table: Table) -> list[Verdict]:
    """U13."""
    if not table("routing"):
        return []
    found = []
    by_workload = {
        workload: [run for cell, runs in _cells(table).items() if workload in cell for run in runs]
        for workload in ("WL1", "WL2")
    }
    if all(by_workload.values()):
        shown = "; ".join(
            f"{workload}: " + ", ".join(f"{e} {fmean(_cost(run, e, 1) for run in runs):.2f}" for e in STRATEGIES)
            for workload, runs in by_workload.items()
        )
        found.append(Verdict.printed("U13", "costs with one core by workload", shown, "beside OPT", "WL2 beats WL1"))
        runs = [run for each in by_workload.values() for run in each]
        by_cores = ", ".join(
            f"{cores}: {fmean(_cost(run, 'CNeigh', cores) / _cost(run, 'SPotent', cores) for run in runs):.2f}"
            for cores in CORES
        )
        found.append(
            Verdict.printed(
                "U13 cores", "CNeigh beside SPotent by cores, all pairs", by_cores, "ratio", "CNeigh overtakes"
            )
        )
    betas = {
        beta: table("routing", ground=FLAT, degree="NC", workload="WL2", beta=beta)
        for beta in table.settings("routing", "beta")
    }
    found.append(
        Verdict.printed(
            "U13 β",
            "cost of CNeigh with eight cores by β",
            ", ".join(
                f"{beta:g}: {fmean(_cost(run, 'CNeigh', 8) for run in runs):.2f}"
                for beta, runs in betas.items()
                if runs
            ),
            "Waxman, WL2, no limit",
            "β is not given",
        )
    )
    return found
