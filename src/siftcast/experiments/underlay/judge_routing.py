"""Rows U6, U7, U9 and U13: core trees. Means are over seeds; costs are beside those of shortest paths (OPT)."""

from __future__ import annotations

from statistics import fmean

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE
from siftcast.experiments.underlay.setup import CORES, FLAT, JUDGED_BETAS, LAYERED
from siftcast.space.core_scores import STRATEGIES, THESIS

SAVED = {"SPotent": 47.0, "CNeigh": 49.0}
SAVED_BAND = 12.0
SAVED_ONE = {"SPotent": 34, "CNeigh": 30}
POTENTIAL_MAX = 1.1
MST_RDP = (1.5, 2.1)


def _cost(run: Result, strategy: str, cores: int, joined: str = ALL_PAIRS, what: str = "cost") -> float:
    return float(run[f"{strategy} {cores} {joined}"][what])


def _cells(table: Table) -> dict[str, list[Result]]:
    """The runs of each cell that is judged."""
    found = {}
    for ground in (FLAT, LAYERED):
        for degree in ("SQ", "NC"):
            for workload in ("WL1", "WL2"):
                for beta in JUDGED_BETAS:
                    runs = table("routing", ground=ground, degree=degree, workload=workload, beta=beta)
                    if runs:
                        found[f"{ground} {degree} {workload} β = {beta:g}"] = runs
    return found


def judge_strategies(table: Table) -> list[Verdict]:
    """U6."""
    cells = _cells(table)
    if not cells:
        return []
    runs = [run for each in cells.values() for run in each]
    return [
        _judge_lowest(cells),
        _judge_potential(cells),
        *(_judge_saved(each, cells) for each in SAVED),
        _print_saved(table),
        _print_messages(runs),
        _print_rival(runs),
    ]


def _judge_lowest(cells: dict[str, list[Result]]) -> Verdict:
    lowest = {
        cell: sum(_cost(run, "SPath", 1) <= min(_cost(run, each, 1) for each in STRATEGIES) + 1e-9 for run in runs)
        / len(runs)
        for cell, runs in cells.items()
    }
    one = {each: fmean(fmean(_cost(run, each, 1) for run in runs) for runs in cells.values()) for each in STRATEGIES}
    mst = {cell: fmean(float(run["MST"]["cost"]) for run in runs) for cell, runs in cells.items()}
    rand = {cell: fmean(_cost(run, "Rand", 1) for run in runs) for cell, runs in cells.items()}
    above, best = fmean(mst.values()), [cell for cell, share in lowest.items() if share >= 0.8]
    shown = ", ".join(f"{each} {cost:.2f}" for each, cost in sorted(one.items(), key=lambda item: item[1]))
    spath = [_cost(run, "SPath", 1) for runs in cells.values() for run in runs]
    seeds = list(zip(*cells.values(), strict=True))
    means = [{each: fmean(_cost(run, each, 1) for run in seed) for each in STRATEGIES} for seed in seeds]
    by_seed = sum(each["SPath"] <= min(each.values()) for each in means)
    return Verdict(
        "U6",
        "SPath costs least with one core, and MST more than Rand",
        "shape",
        "SPath best, MST worst",
        f"one core: {shown}; MST {above:.2f}",
        f"SPath least in four of five seeds in {len(best)} of {len(cells)} cells; SPath {spread_of(spath, 'runs')}",
        min(lowest.values()) >= 0.8 and above > one["Rand"],
        "Costs beside OPT, mean over Waxman and transit-stub, √N neighbours and no limit, WL1 and WL2, β 0 and 1. Of "
        f"all seeds SPath is least in {100 * fmean(lowest.values()):.0f} %; if cells are averaged, in {by_seed} of "
        f"{len(seeds)} seeds. With β = 0 it is so in {_share(best, cells, 'β = 0')} cells, with β = 1 in "
        f"{_share(best, cells, 'β = 1')}. MST costs more than Rand in "
        f"{sum(mst[cell] > rand[cell] for cell in cells)} of {len(cells)} cells.",
    )


def _share(chosen: list[str], cells: dict[str, list[Result]], words: str) -> str:
    return f"{sum(words in cell for cell in chosen)} of {sum(words in cell for cell in cells)}"


def _judge_potential(cells: dict[str, list[Result]]) -> Verdict:
    ratios = [
        _cost(run, "SPotent", 1) / _cost(run, "MaxPath", 1)
        for cell, runs in cells.items()
        if " NC " in cell
        for run in runs
    ]
    limited = [
        _cost(run, "SPotent", 1) / _cost(run, "MaxPath", 1)
        for cell, runs in cells.items()
        if " NC " not in cell
        for run in runs
    ]
    return Verdict(
        "U6 SPotent",
        "SPotent performs almost as MaxPath does",
        "shape",
        "almost similar",
        f"{fmean(ratios):.2f} times the cost of MaxPath with one core",
        f"no degree limit: {spread_of(ratios, 'runs')}",
        fmean(ratios) <= POTENTIAL_MAX,
        f"Judged: at most {POTENTIAL_MAX}. Weights are in units of the mean link (`space/core_scores.py`). With √N "
        f"neighbours {fmean(limited):.2f} times.",
    )


def _saved(run: Result, strategy: str, cores: int) -> float:
    """What a core tree saves against MST, in percent."""
    return 100 - 100 * _cost(run, strategy, cores) / float(run["MST"]["cost"])


def _judge_saved(strategy: str, cells: dict[str, list[Result]]) -> Verdict:
    most = CORES[-1]
    found = {
        cell: [_saved(run, strategy, most) for run in runs]
        for cell, runs in cells.items()
        if cell.startswith(FLAT) and "WL2" in cell
    }
    return Verdict(
        f"U6 {strategy}, {most} cores",
        f"what {strategy} saves against MST with {most} cores",
        "value",
        f"{SAVED[strategy]:.0f} % (± {SAVED_BAND:.0f})",
        ", ".join(f"{cell.removeprefix(FLAT).strip()}: {fmean(each):.0f} %" for cell, each in found.items()),
        spread_of([value for each in found.values() for value in each], "runs") if found else "—",
        bool(found) and all(abs(fmean(each) - SAVED[strategy]) <= SAVED_BAND for each in found.values()),
        "Waxman, WL2, cores joined by all pairs; every cell is judged.",
    )


def _print_saved(table: Table) -> Verdict:
    """One core, and the values of β that are not judged."""
    shown = []
    for strategy in SAVED_ONE:
        for degree in ("SQ", "NC"):
            by_beta = []
            for beta in table.settings("routing", "beta"):
                runs = table("routing", ground=FLAT, degree=degree, workload="WL2", beta=beta)
                if runs:
                    saved = [fmean(_saved(run, strategy, count) for run in runs) for count in (CORES[0], CORES[-1])]
                    by_beta.append(f"β = {beta:g}: {saved[0]:.0f} and {saved[1]:.0f} %")
            shown.append(f"{strategy} {degree}, {', '.join(by_beta)}")
    return Verdict.printed(
        "U6 one core",
        f"what is saved against MST with one core and with {CORES[-1]}, by β",
        "; ".join(shown),
        "Waxman, WL2",
        "up to 34 % (SPotent), 30 % (CNeigh) with one",
    )


def _print_messages(runs: list[Result]) -> Verdict:
    """What the cost of the thesis hides."""

    def shown(what: str, digits: int) -> str:
        one = {each: fmean(_cost(run, each, 1, ONE_TREE, what) for run in runs) for each in STRATEGIES}
        more = {name: fmean(run[name][what] for run in runs) for name in ("MST", "OPT")}
        return ", ".join(f"{name} {value:.{digits}f}" for name, value in (one | more).items())

    def beside(what: str) -> str:
        ratios = [
            100 * _cost(run, each, 1, ONE_TREE, what) / float(run["MST"][what]) - 100 for run in runs for each in THESIS
        ]
        return f"{spread_of(ratios, 'runs')}, from {min(ratios):.0f} to {max(ratios):.0f}"

    return Verdict.printed(
        "U6 messages",
        "messages per delivery with one core, where copies for several subscribers share a link; the physical links "
        "that they cross; and their delays",
        f"messages {shown('messages', 2)}; physical links {shown('physical', 1)}; ms {shown('merged_ms', 1)}",
        f"beside MST, in %: messages {beside('messages')}; physical links {beside('physical')}; delays "
        f"{beside('merged_ms')}",
    )


def _print_rival(runs: list[Result]) -> Verdict:
    names = ("nearest OPT", "nearest MST", f"nearest SPotent {CORES[0]}", f"nearest SPotent {CORES[-1]}")
    found = {name: fmean(float(run[name]["cost"]) for run in runs) for name in names}
    ours = {count: fmean(_cost(run, "SPotent", count) for run in runs) for count in (CORES[0], CORES[-1])}
    return Verdict.printed(
        "U6 baseline",
        "costs over each peer's ten nearest by measured delays and a distant link, beside OPT over DWorst's overlay",
        ", ".join(f"{name.removeprefix('nearest ')} {cost:.2f}" for name, cost in found.items())
        + "; over DWorst's overlay SPotent "
        + ", ".join(f"{count} {cost:.2f}" for count, cost in ours.items())
        + f", MST {fmean(float(run['MST']['cost']) for run in runs):.2f}",
        f"OPT over the baseline's {spread_of([float(run['nearest OPT']['cost']) for run in runs], 'runs')}",
    )


def judge_cores(table: Table) -> list[Verdict]:
    """U7."""
    cells = _cells(table)
    if not cells:
        return []
    least, some, most = CORES[0], 8, CORES[-1]
    runs = [run for each in cells.values() for run in each]
    pairs, tree = (
        {each: [fmean(_cost(run, each, c, j) for run in runs) for c in CORES] for each in THESIS}
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
                for each in THESIS
            ),
            f"{', '.join(map(str, CORES))} cores; SPotent, {most}, all pairs "
            f"{spread_of([_cost(run, 'SPotent', most) for run in runs], 'runs')}",
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
            spread_of(
                [100 * float(r["MST"]["rdp"]) / _cost(r, "CNeigh", most, ALL_PAIRS, "rdp") - 100 for r in runs], "runs"
            ),
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
        (each, joined): [fmean(_cost(run, each, count, joined, "efficiency") for run in runs) for count in CORES]
        for joined in (ONE_TREE, ALL_PAIRS)
        for each in THESIS
    }
    mst = [float(run["MST"]["efficiency"]) for run in runs]
    tree = [each for (_, joined), each in found.items() if joined == ONE_TREE]
    one, all_counts = (fmean(mst) > max(most) for most in ([each[0] for each in tree], [max(each) for each in tree]))
    return [
        Verdict(
            "U9",
            "all messages per delivery grow with cores, and MST has more",
            "shape",
            "grow; MST worse",
            "; ".join(
                f"{each}, {joined}: {counts[0]:.2f} → {counts[-1]:.2f}" for (each, joined), counts in found.items()
            )
            + f"; MST {fmean(mst):.2f}",
            f"{CORES[0]} and {CORES[-1]} cores; MST {spread_of(mst, 'runs')}",
            all(counts[-1] > counts[0] for counts in found.values()) and all_counts,
            f"Judged: MST above every number of cores in one tree ({'yes' if all_counts else 'no'}). Above one core: "
            f"{'yes' if one else 'no'}.",
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
            "cost of CNeigh with eight cores, and its messages per delivery, by β",
            ", ".join(
                f"{beta:g}: {fmean(_cost(run, 'CNeigh', 8) for run in runs):.2f} with "
                f"{fmean(_cost(run, 'CNeigh', 8, ALL_PAIRS, 'messages') for run in runs):.2f}"
                for beta, runs in betas.items()
                if runs
            ),
            "Waxman, WL2, no limit",
            "β is not given",
        )
    )
    return found
