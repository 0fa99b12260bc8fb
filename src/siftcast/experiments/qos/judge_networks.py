"""Rows Q4 to Q8 and Q11: trends over networks. Means are over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.qos.setup import ALLOWANCES, CHURN, DEGREES, SCENARIOS, SHOCKS
from siftcast.experiments.table import Result, Table, mean, values

RATIO_MIN = 1.3
RATIO_SIZE_MAX = 1_000
GROWTH_MAX = 2.5
SCALE_FROM = 1_000
AGAIN_ROUNDS_MAX = 60
LEAST_MAX = 0.99
"""A change that no fewer are notified after has not been felt."""
IN_DEGREE_MAX, EXPRESSIONS_BY = 3.0, 16.0
_BOTH = ("WL1", "WL2")


def judge_construction(table: Table) -> list[Verdict]:
    """Q4."""
    runs = table("construction")
    if not runs:
        return []
    unfinished = sum(run["rounds_notified"] is None for run in runs)
    more = sum(run["more_notified"] for run in runs)
    small = {
        workload: [
            float(run["rounds_notified"] or len(run["notified"]))
            for size in table.settings("construction", "peers")
            if size <= RATIO_SIZE_MAX
            for run in table("construction", workload=workload, peers=size)
        ]
        for workload in _BOTH
    }
    ratio = fmean(small["WL2"]) / fmean(small["WL1"])
    return [
        Verdict(
            "Q4",
            "all peers converge and are notified; WL2 takes longer; never are more notified than converged",
            "shape",
            "100 %, WL2 longer",
            f"{unfinished} of {len(runs)} runs unfinished; WL2 takes {ratio:.2f} times the rounds of WL1; "
            f"{more} rounds with more notified than converged",
            ", ".join(f"{workload} {spread_of(each)}" for workload, each in small.items()),
            unfinished == 0 and ratio >= RATIO_MIN and more == 0,
            f"Rounds until all are notified, up to {RATIO_SIZE_MAX:,} peers; the ratio must be {RATIO_MIN} at least.",
        )
    ]


def judge_pitfalls(table: Table) -> list[Verdict]:
    """Q4 and Q3, as printed: what other readings come to."""
    names = table.settings("printed", "pitfall") if table("printed") else []
    found = []
    for name in names:
        runs = table("printed", pitfall=name)
        circles = sum(run["circles"] for run in runs)
        found.append(
            Verdict.printed(
                f"Q4 {name}",
                "a crowd of few kinds of peers: notified in the last ten rounds, and wants supplied in a circle",
                f"{100 * mean(runs, 'notified'):.0f} % notified, {circles} in circles",
                spread_of([100 * value for value in values(runs, "notified")]),
            )
        )
    return found


def judge_users(table: Table) -> list[Verdict]:
    """The overlay that users get, beside the thesis's."""
    runs = table("users")
    if not runs:
        return []
    done = {
        workload: [run["seconds_notified"] for run in table("users", workload=workload)]
        for workload in table.settings("users", "workload")
    }
    shown = ", ".join(
        f"{workload} {fmean(each):.1f} s" if None not in each else f"{workload} not all"
        for workload, each in done.items()
    )
    wrong = {name: sum(run[name] for run in runs) for name in ("missed", "repeated", "late", "required")}
    return [
        Verdict.printed(
            "Q4 overlay of users",
            "time until all are notified, with rounds of a second and hops of 10 ms",
            f"{shown}; then {wrong['missed']} events missed, {wrong['repeated']} repeated and {wrong['late']} late of "
            f"{wrong['required']:,}",
            f"{len(runs)} networks",
        )
    ]


def judge_churn(table: Table) -> list[Verdict]:
    """Q5."""
    found: list[Verdict] = []
    if table("churn"):
        shares = {
            workload: [100 * mean(table("churn", workload=workload, share=share), "notified") for share in CHURN]
            for workload in _BOTH
        }
        falls = all(after < before for each in shares.values() for before, after in pairwise(each))
        lower = fmean(shares["WL2"]) < fmean(shares["WL1"])
        found.append(
            Verdict(
                "Q5",
                "continuous churn degrades gracefully, and WL2 more",
                "shape",
                "gradual, WL2 lower",
                "; ".join(f"{workload} {_by_rate(each)}" for workload, each in shares.items()),
                f"{len(table('churn'))} runs",
                falls and lower,
                "Notified peers, in the mean of the last two thirds of the rounds."
                + ("" if falls else " It does not fall with every rate.")
                + ("" if lower else " WL2 is not below WL1."),
            )
        )
    if table("shock"):
        runs = table("shock")
        never = sum(run["rounds_99"] is None for run in runs)
        slowest = max((run["rounds_99"] or 0) for run in runs)
        by_share = ", ".join(
            f"{fmean(known):.0f} after {100 * share:.0f} %"
            for share in SHOCKS
            if (known := [run["rounds_99"] for run in table("shock", share=share) if run["rounds_99"] is not None])
        )
        found.append(
            Verdict(
                "Q5 recovery",
                "after 10, 25 or 40 % of the peers were replaced at once, the overlay recovers",
                "shape",
                "it recovers",
                f"99 % are notified again after {by_share} rounds; {never} of {len(runs)} runs not within 60",
                f"at most {slowest} rounds",
                never == 0 and slowest <= AGAIN_ROUNDS_MAX and all(run["least"] < LEAST_MAX for run in runs),
            )
        )
    return found


def _by_rate(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:.0f} % at {100 * rate:g} %" for rate, share in zip(CHURN, shares, strict=True))


def judge_scale(table: Table) -> list[Verdict]:
    """Q6."""
    found: list[Verdict] = []
    sizes = table.settings("construction", "peers") if table("construction") else []
    judged = [size for size in sizes if size >= SCALE_FROM] if max(sizes, default=0) > SCALE_FROM else sizes
    if len(judged) > 1:
        rounds = {
            workload: {size: _rounds(table("construction", workload=workload, peers=size)) for size in judged}
            for workload in _BOTH
        }
        growth = {workload: each[judged[-1]] / each[judged[0]] for workload, each in rounds.items()}
        seconds = max(run["seconds"] for run in table("construction", peers=judged[-1]))
        found.append(
            Verdict(
                "Q6",
                "construction time stays about the same up to 7,000 peers",
                "shape",
                "almost the same",
                "; ".join(
                    f"{workload} " + ", ".join(f"{count:.0f} at {size:,}" for size, count in each.items())
                    for workload, each in rounds.items()
                ),
                ", ".join(f"{workload} grows {value:.2f}-fold" for workload, value in growth.items()),
                max(growth.values()) <= GROWTH_MAX,
                "Rounds until all are notified, with a view of 5 %. "
                f"The largest took {seconds:.0f} s of one core at most.",
            )
        )
    if table("fixed view"):
        fixed = {size: _rounds(table("fixed view", peers=size)) for size in table.settings("fixed view", "peers")}
        found.append(
            Verdict.printed(
                "Q6 fixed view",
                "the same with a view of 25 peers, whatever their number",
                ", ".join(f"{count:.0f} at {size:,}" for size, count in fixed.items()),
                f"grows {max(fixed.values()) / fixed[min(fixed)]:.1f}-fold",
                "not measured",
            )
        )
    return found


def _rounds(runs: Sequence[Result]) -> float:
    """Rounds until all are notified; as many as there were, where they are not."""
    return fmean(float(run["rounds_notified"] or len(run["notified"])) for run in runs)


def judge_pieces(table: Table) -> list[Verdict]:
    """Q7."""
    if not table("pieces"):
        return []
    found = {
        mean(runs, "expressions"): mean(runs, "in_degree")
        for theta in table.settings("pieces", "theta")
        for runs in [table("pieces", theta=theta)]
    }
    least = min(found)
    beside = min(found, key=lambda each: abs(each / least - EXPRESSIONS_BY))
    growth = found[beside] / found[least]
    return [
        Verdict(
            "Q7",
            "mean in-degree grows little with the expressions of a subscription",
            "shape",
            "1.2 to 3.1 for 4 to 256",
            ", ".join(f"{degree:.2f} with {count:.0f}" for count, degree in found.items()),
            f"{growth:.2f}-fold while expressions grow {beside / least:.0f}-fold",
            growth <= IN_DEGREE_MAX and beside / least >= EXPRESSIONS_BY * 0.9,
            "Parents of a peer, publishers included, over five attributes.",
        )
    ]


def judge_constraints(table: Table) -> list[Verdict]:
    """Q8."""
    if not table("constraints"):
        return []

    def cells(read: Callable[[Sequence[Result]], float], *, real: bool) -> dict[tuple[str, int], list[float]]:
        return {
            (scenario, degree): [
                100 * read(table("constraints", scenario=scenario, degree=degree, allowance=each, real_delays=real))
                for each in ALLOWANCES
            ]
            for scenario in SCENARIOS
            for degree in DEGREES
        }

    notified = cells(lambda runs: mean(runs, "notified"), real=False)
    false = cells(lambda runs: mean(runs, "false"), real=False)
    narrow, wide = DEGREES
    rises = all(after > notified["S1", narrow][0] for after in notified["S1", narrow][1:])
    wider = all(fmean(notified[scenario, wide]) > fmean(notified[scenario, narrow]) for scenario in SCENARIOS)
    everywhere = all(
        after >= before
        for scenario in SCENARIOS
        for before, after in zip(notified[scenario, narrow], notified[scenario, wide], strict=True)
    )
    by_scenario = {scenario: fmean(fmean(false[scenario, degree]) for degree in DEGREES) for scenario in SCENARIOS}
    found = [
        Verdict(
            "Q8",
            "taking on false positives, and more children, notify more; S2 takes on more than S1",
            "shape",
            "S1, m = 6: 65 % → 83 % at 6.2 %; S2: 64 % (m = 6, 50 %) → 82 % (m = 12)",
            "; ".join(_cell(key, each) for key, each in notified.items()),
            f"false positives: S1 {by_scenario['S1']:.1f} %, S2 {by_scenario['S2']:.1f} %",
            rises and wider and by_scenario["S2"] > by_scenario["S1"],
            "Notified, in %, with allowances of "
            + ", ".join(f"{100 * each:g} %" for each in ALLOWANCES)
            + "."
            + ("" if rises else " S1 with m = 6 does not rise with every allowance.")
            + ("" if wider else " m = 12 is not above m = 6 in the mean.")
            + f" As first judged, m = 12 ahead in every cell, it {'holds' if everywhere else 'does not hold'}.",
        )
    ]
    if table("constraints", real_delays=True):
        real = cells(lambda runs: mean(runs, "notified"), real=True)
        found.append(
            Verdict.printed(
                "Q8 section 2.7",
                "the same with section 2.7's acceptance",
                "; ".join(_cell(key, each) for key, each in real.items()),
                "3 seeds",
                "not said",
            )
        )
    return found


def _cell(key: tuple[str, int], each: Sequence[float]) -> str:
    return f"{key[0]}, m = {key[1]}: " + " → ".join(f"{value:.0f}" for value in each)


def judge_traffic(table: Table) -> list[Verdict]:
    """Q11."""
    runs = table("construction")
    if not runs:
        return []
    sizes = table.settings("construction", "peers")
    size = SCALE_FROM if SCALE_FROM in sizes else max(sizes)
    found = {workload: table("construction", workload=workload, peers=size) for workload in _BOTH}
    spread = {workload: mean(each, "connects", "deviation") for workload, each in found.items()}
    direct = {workload: 100 * mean(each, "connects", "direct") for workload, each in found.items()}
    requests = {workload: mean(each, "connects", "mean") for workload, each in found.items()}
    return [
        Verdict(
            "Q11",
            "control traffic is spread wider over peers under WL2",
            "shape",
            "WL2 wider; more peers connect directly",
            ", ".join(f"{workload} {value:.1f}" for workload, value in spread.items()),
            ", ".join(f"{w} {spread_of(values(each, 'connects', 'deviation'))}" for w, each in found.items()),
            spread["WL2"] > spread["WL1"],
            f"Standard deviation of the requests that a peer sends, {size:,} peers. In the mean "
            + ", ".join(f"{workload} {value:.1f} requests" for workload, value in requests.items())
            + "; with no request in vain "
            + ", ".join(f"{workload} {value:.0f} %" for workload, value in direct.items())
            + ".",
        )
    ]
