"""Rows C5, C6 and C8: time and messages. What must hold was written after small trials, before full sizes.

C5   with full decompositions and link delays, two levels and 50 % landmarks save 86 % (RAssoc) and 90 % (NCut) or more,
     four levels more than 99 % with some share of landmarks (links count since the full run)
C6   at the largest size: NCut below 15 s and RAssoc below 5 s with link delays; root below 25 s, base below 5 s
C8   filtering and multicast both cost less than OV-RTree over the whole run, filtering less than multicast;
     at the end of every period both cost at most 1.25 times what they cost at the end of the first; from no churn
     to the most, both rise by a smaller factor than OV-RTree
"""

from __future__ import annotations

from statistics import fmean

from siftcast.experiments.claims import Verdict, judge_deliveries, spread_of
from siftcast.experiments.clustering.dissemination import SCHEMES, WINDOW
from siftcast.experiments.clustering.judge_quality import NAMES
from siftcast.experiments.clustering.setup import METHODS
from siftcast.experiments.table import Result, Table, mean, values

SAVING = {"rassoc": 86.0, "ncut": 90.0}
SECONDS = {"rassoc": 5.0, "ncut": 15.0}
OURS = ("multicast", "filtering")
PUBLISHED = {"filtering": 34, "multicast": 18}


def judge_reduction(table: Table) -> list[Verdict]:
    """C5."""
    verdicts = []
    for method in METHODS:
        runs = table("reduction", method=method)
        if not runs:
            continue
        deep = [shape for shape in runs[0] if shape.startswith("4 ")]
        two, four = _saving(runs, "2 0.5", "full"), max(_saving(runs, shape, "full") for shape in deep)
        told = {
            (kind, links): f"{_saving(runs, '2 0.5', kind, links):.0f} % and "
            f"{max(_saving(runs, shape, kind, links) for shape in deep):.0f} %"
            for kind, links in (("full", False), ("ours", False), ("ours", True))
        }
        alone = [100 * (1 - run["2 0.5"]["full"] / run["1 1.0"]["full"]) for run in runs]
        verdicts.append(
            Verdict(
                f"C5 {NAMES[method]}",
                "time saved in reducing dimensions: two levels and 50 % landmarks; four levels",
                "value",
                f"{SAVING[method]:.0f} %; > 99 %",
                f"{two:.0f} %; {four:.0f} %",
                f"{spread_of(alone)} (without links)",
                two >= SAVING[method] and four > 99,
                note="Judged with full decompositions and with links, as the thesis has them: "
                f"{mean(runs, '1 1.0', 'full'):.2f} s centralized, and links of {mean(runs, '2 0.5', 'links'):.2f} s "
                f"with two levels, {mean(runs, deep[0], 'links'):.2f} s with four, which are 1 % of "
                f"{100 * mean(runs, deep[0], 'links'):.0f} s. Without links {told['full', False]} are saved. "
                f"Our solver needs {mean(runs, '1 1.0', 'ours'):.2f} s for all at once, which leaves less to save: "
                f"{told['ours', False]}, and with links {told['ours', True]}. With two levels projections take "
                f"{mean(runs, '2 0.5', 'projection'):.2f} s. "
                "Growth with the cube alone would save 87.5 % where the root has half of the members.",
            )
        )
    return verdicts


def _saving(runs: list[Result], shape: str, kind: str, links: bool = True) -> float:
    """How much shorter than centralized, in %, by the mean times over seeds."""
    spent = mean(runs, shape, kind) + (mean(runs, shape, "links") if links else 0.0)
    return 100 * (1 - spent / mean(runs, "1 1.0", kind))


def judge_scale(table: Table) -> list[Verdict]:
    """C6, at the largest size there is."""
    if not table("scale"):
        return []
    size = table.settings("scale", "subscriptions")[-1]
    runs = {method: table("scale", subscriptions=size, method=method) for method in METHODS}
    verdicts = [
        Verdict(
            f"C6 {NAMES[method]}",
            f"{size:,} subscriptions clustered, links of 224–384 ms included",
            "value",
            f"{'<' if method == 'ncut' else '≈'} {SECONDS[method]:.0f} s",
            f"{mean(each, 'seconds'):.2f} s",
            spread_of(values(each, "seconds")),
            mean(each, "seconds") < SECONDS[method],
        )
        for method, each in runs.items()
    ]
    root, base = mean(runs["ncut"], "root_load"), mean(runs["ncut"], "base_load")
    sizes = table.settings("scale", "subscriptions")
    return [
        *verdicts,
        Verdict(
            "C6 load",
            "computing of the root and of base coordinators (NCut)",
            "value",
            "root < 25 s, base < 5 s",
            f"root {root:.2f} s, base {base:.2f} s; RAssoc {mean(runs['rassoc'], 'root_load'):.2f} and "
            f"{mean(runs['rassoc'], 'base_load'):.2f} s",
            spread_of(values(runs["ncut"], "root_load")),
            root < 25 and base < 5,
        ),
        Verdict.printed(
            "C6 quality",
            "entropy/accuracy/share of false positives against the number of subscriptions (Fig. 3.12)",
            "; ".join(f"{NAMES[method]} {_qualities(table, method, sizes)}" for method in METHODS),
            f"means over {len(runs['ncut'])} seeds",
            "NCut falls slightly, RAssoc improves",
        ),
    ]


def _qualities(table: Table, method: str, sizes: list[int]) -> str:
    shown = []
    for size in sizes:
        runs = table("scale", subscriptions=size, method=method)
        numbers = [mean(runs, name) for name in ("entropy", "accuracy", "false_positive_share")]
        shown.append(f"{size:,}: " + "/".join(f"{number:.2f}" for number in numbers))
    return ", ".join(shown)


def judge_dissemination(table: Table) -> list[Verdict]:
    """C8."""
    runs = {scheme: table("moving", scheme=scheme, subscription_distribution=None) for scheme in SCHEMES}
    if not all(runs.values()):
        return []
    return [
        *(_cost(runs, scheme) for scheme in reversed(OURS)),
        _recovery(table, runs),
        _churn(table),
        judge_exactness(table),
        _readings(table, runs),
    ]


def savings(runs: dict[str, list[Result]], scheme: str, baseline: str = "ov_rtree") -> list[float]:
    """Percent by which a scheme costs less than another, one per seed."""
    pairs = zip(values(runs[scheme], "cost"), values(runs[baseline], "cost"), strict=True)
    return [100 * (1 - ours / other) for ours, other in pairs]


def _cost(runs: dict[str, list[Result]], scheme: str) -> Verdict:
    cost = {name: mean(each, "cost") for name, each in runs.items()}
    saved = fmean(savings(runs, scheme))
    same = fmean(savings(runs, scheme, "ov_clusters"))
    other = next(each for each in OURS if each != scheme)
    cheaper = "filtering" if cost["filtering"] < cost["multicast"] else "multicast"
    return Verdict(
        f"C8 {scheme}",
        f"notification cost with {scheme}, below OV-RTree's while hot spots move",
        "shape",
        f"{PUBLISHED[scheme]} % less",
        f"{abs(saved):.0f} % {'less' if saved > 0 else 'more'} "
        f"({cost[scheme]:.2f} beside {cost['ov_rtree']:.2f} messages)",
        spread_of(savings(runs, scheme)),
        saved > 0 and cheaper == "filtering",
        note=f"Control traffic is {100 * mean(runs[scheme], 'control_share'):.0f} % of it; {other} costs "
        f"{cost[other]:.2f}. An R-tree of four children filters on its way to every single peer. Whole clusters from "
        f"an R-tree, multicast in our scheme, cost {cost['ov_clusters']:.2f}: {scheme} is {same:.0f} % below that.",
    )


def _recovery(table: Table, runs: dict[str, list[Result]]) -> Verdict:
    """The last quarter of each period beside that of the first."""
    period, warm = table.settings("moving", "move_every")[0], table.settings("moving", "warm")[0]
    quarter = max(1, period // 4 // WINDOW)
    worst, parts, held = {}, [], True
    for scheme in OURS:
        windows = [fmean(each) for each in zip(*(run["windows"] for run in runs[scheme]), strict=True)]
        ends = [end // WINDOW for end in range(period - warm, len(windows) * WINDOW + 1, period)]
        late = [fmean(windows[end - quarter : end]) for end in ends]
        early = [fmean(windows[end : end + quarter]) for end in ends[:-1]]
        worst[scheme] = max(late[1:]) / late[0]
        held = held and worst[scheme] <= 1.25
        parts.append(
            f"{scheme}: {late[0]:.2f} before, {fmean(early):.2f} just after a move, {fmean(late[1:]):.2f} at its end"
        )
    return Verdict(
        "C8 recovery",
        "cost recovers after the hot spots have moved",
        "shape",
        "almost identical after a short transient",
        "; ".join(parts),
        f"worst end of a period {max(worst.values()):.2f} times the first's",
        held,
    )


def _churn(table: Table) -> Verdict:
    rates = table.settings("churn", "churn")
    cost = {
        (scheme, rate): mean(table("churn", scheme=scheme, churn=rate), "cost") for scheme in SCHEMES for rate in rates
    }
    rise = {scheme: cost[scheme, rates[-1]] / cost[scheme, rates[0]] for scheme in SCHEMES}
    shown = "; ".join(
        f"{scheme} {'/'.join(f'{cost[scheme, rate]:.2f}' for rate in rates)}" for scheme in (*OURS, "ov_rtree")
    )
    worst = values(table("churn", scheme="filtering", churn=rates[-1]), "cost")
    anywhere = mean(table("churn", scheme="ov_rtree_anywhere", churn=rates[-1]), "cost")
    return Verdict(
        "C8 churn",
        f"more robust to churn ({'/'.join(f'{rate:.0%}' for rate in rates)} of the peers a step)",
        "shape",
        "degrades less than OV-RTree",
        f"{shown}; ×{rise['multicast']:.2f}, ×{rise['filtering']:.2f} and ×{rise['ov_rtree']:.2f}",
        spread_of(worst) + " (filtering, most churn)",
        max(rise[scheme] for scheme in OURS) < rise["ov_rtree"],
        note="Newcomers descend from the R-tree's root. The thesis hints at some that are not added there: if all "
        f"come to a random peer, OV-RTree costs {anywhere:.2f}, ×{anywhere / cost['ov_rtree', rates[0]]:.2f}.",
    )


def judge_exactness(table: Table) -> Verdict:
    """C8's deliveries, of the runs in the simulator; the model of an R-tree delivers nothing that could be wrong."""
    runs = [run for run in (*table("moving"), *table("churn")) if "required" in run]
    claim = "every event reaches every subscriber that wants it, once, while clusters change"
    return judge_deliveries("C8 deliveries", claim, "—", runs)


def _readings(table: Table, runs: dict[str, list[Result]]) -> Verdict:
    uniform = {
        scheme: table("moving", scheme=scheme, subscription_distribution="uniform") for scheme in SCHEMES
    }  # fmt: skip
    shown = ", ".join(f"{scheme} {mean(each, 'cost'):.2f}" for scheme, each in uniform.items())
    false = ", ".join(f"{scheme} {100 * mean(each, 'false_positive_share'):.0f} %" for scheme, each in runs.items())
    return Verdict.printed(
        "C8 readings",
        "messages a notification with uniform subscriptions; false positives among messages",
        f"uniform: {shown}; false positives: {false}",
        f"means over {len(uniform['multicast'])} and {len(runs['multicast'])} seeds",
    )
