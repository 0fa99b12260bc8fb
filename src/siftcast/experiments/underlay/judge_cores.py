"""Row U6: how peers find their cores, and what the printed rules about cores do."""

from __future__ import annotations

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Table, mean, values
from siftcast.experiments.underlay.core_discovery import Rule
from siftcast.experiments.underlay.measure_pitfalls import KEPT, PRINTED
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE


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


def print_votes(table: Table) -> list[Verdict]:
    """Votes that are lost on the way up, SPotent by units, and whether core paths are a tree."""
    found = []
    for ground in table.settings("votes", "ground"):
        runs = table("votes", ground=ground)
        votes = ", ".join(
            f"{kept} k_C: {100 * mean(runs, 'votes', str(kept), 'share'):.0f} % of the votes, cost "
            f"{mean(runs, 'votes', str(kept), 'cost'):.2f}"
            for kept in KEPT
        )
        found += [
            Verdict.printed(
                f"U6 votes, {ground}",
                f"what CNeigh's {runs[0]['cores']} cores have of the votes, if peers pass on few candidates",
                f"{votes}; all votes known: cost {mean(runs, 'votes', 'all', 'cost'):.2f}",
                f"2 k_C: {spread_of(values(runs, 'votes', '2', 'share'))}",
            ),
            Verdict.printed(
                f"U6 units, {ground}",
                "SPotent's cores by units of weights and delays",
                ", ".join(
                    f"{unit}: {100 * mean(runs, 'SPotent', unit, 'same'):.0f} % the same, cost "
                    f"{mean(runs, 'SPotent', unit, 'cost'):.2f}"
                    for unit in ("mean link", "ms", "s")
                ),
                spread_of(values(runs, "SPotent", "s", "same")),
                "no unit given",
            ),
            Verdict.printed(
                f"U7 circles, {ground}",
                f"links of the paths through {runs[0]['cores']} cores beyond those of a tree",
                ", ".join(f"{joined}: {mean(runs, joined, 'more'):.0f} more" for joined in (ONE_TREE, ALL_PAIRS)),
                f"all pairs: {spread_of(values(runs, ALL_PAIRS, 'more'))}",
                "a tree",
            ),
        ]
    return found


def print_potential(table: Table) -> list[Verdict]:
    """SPotent by both readings of a neighbour."""
    if not table("potential"):
        return []
    shown = []
    for degree in ("SQ", "NC"):
        for beta in table.settings("potential", "beta"):
            runs = table("potential", degree=degree, beta=beta)
            saved = {
                name: [100 - 100 * mean(runs, name, count) for count in ("1", "32")]
                for name in ("near", "all", "MaxPath")
            }
            shown.append(
                f"{degree} β = {beta:g}: "
                + ", ".join(f"{name} {one:.0f} and {most:.0f} %" for name, (one, most) in saved.items())
            )
    every = table("potential")
    ratios = [run["near"]["1"] / run["MaxPath"]["1"] for run in table("potential", degree="NC")]
    return [
        Verdict.printed(
            "U6 neighbours",
            "what SPotent saves against MST with 1 and 32 cores, if distant peers are no neighbours (near), or are "
            "(all, as judged)",
            "; ".join(shown),
            f"of the first core's links {100 * mean(every, 'distant of the first'):.0f} % lead to distant peers; near "
            f"beside MaxPath with one core, no limit: {spread_of(ratios, 'runs')}",
            "not said",
        )
    ]


def print_rules(table: Table) -> list[Verdict]:
    """Overlays by printed rules."""
    found = []
    for share in table.settings("printed", "selectivity") if table("printed") else []:
        runs = table("printed", selectivity=share)
        shown = "; ".join(
            f"{name}: RDP {mean(runs, name, 'rdp'):.2f}, stress {mean(runs, name, 'stress'):.2f}, "
            f"{mean(runs, name, 'joins'):.0f} joins and {mean(runs, name, 'inferences'):.1f} inferences per peer, "
            f"{mean(runs, name, 'greedy'):.0f} peers with more than k_L + 1, "
            f"{mean(runs, name, 'endless'):.0f} walks stopped"
            for name in PRINTED
        )
        only = [sum(run["only children"][adopts] for run in runs) for adopts in ("False", "True")]
        found.append(
            Verdict.printed(
                f"U3 printed rules, σ = {share:g}",
                "overlays of DWorst by printed rules, two peers to a router",
                f"{shown}; k nearest: RDP {mean(runs, 'k nearest', 'rdp'):.2f}",
                f"as repaired, RDP {spread_of(values(runs, 'as repaired', 'rdp'))}; landmarks with one child only: "
                f"{only[0]} of {8 * len(runs)}, where peers at their router adopt {only[1]}",
            )
        )
    return found


def print_scale(table: Table) -> list[Verdict]:
    """How long the largest set-up takes."""
    return [
        Verdict.printed(
            "U6 scale",
            f"seconds of one core for {asked['peers']:,} peers and {asked['events']:,} events",
            f"{run['overlay_seconds']:.0f} s for the overlay and its measures, {run['routing_seconds']:.0f} s for "
            f"interests, 32 cores and {run['deliveries']:,} deliveries over {run['messages']:,} messages",
            f"one run, √N neighbours, RDP {run['rdp']:.2f}",
            "up to 1,024 and 5,000",
        )
        for asked, run in table.pairs("scale")
    ]
