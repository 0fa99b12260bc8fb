"""Rows U1 to U5, U8, U11 and U12: the topology discovery overlay. Means are over seeds."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table, mean, values
from siftcast.experiments.underlay.setup import CHURN, FLAT, LAYERED

HEURISTICS = {"WORST": "DWorst", "BEST": "DBest", "LINK": "MLink"}
AHEAD = 0.08
RDP, RDP_BAND = 1.19, 0.15
ONLY_RDP, ONLY_STRESS = 1.15, 1.08
CHURN_LEAST, CHURN_MOST, CHURN_WALKS = 1.10, 1.35, 1.05
_USUAL: dict[str, Any] = {"targets": 10, "selectivity": 0.1}


def _overlay(table: Table, ground: str, heuristic: str, **asked: Any) -> list[Result]:
    return table("overlays", ground=ground, heuristic=heuristic, **{**_USUAL, **asked})


def judge_targets(table: Table) -> list[Verdict]:
    """U1."""
    if not table("targets"):
        return []
    found: dict[str, list[tuple[int, dict[str, float]]]] = {}
    for ground in table.settings("targets", "ground"):
        for count in table.settings("targets", "targets"):
            runs = table("targets", ground=ground, targets=count)
            shares = {kind: mean(runs, kind) for kind in ("nearest", "landmarks", "farthest")}
            found.setdefault(ground, []).append((count, shares))
    judged = [shares for ground, each in found.items() if ground != FLAT for _, shares in each]
    return [
        Verdict(
            "U1",
            "the nearest targets show more of the underlay than landmarks, and these more than the farthest",
            "shape",
            "nearest > landmarks > farthest",
            "; ".join(
                f"{ground}, {count}: " + ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in shares.items())
                for ground, each in found.items()
                for count, shares in each
            ),
            f"{len(table('targets'))} runs",
            bool(judged) and all(shares["nearest"] >= shares["landmarks"] + AHEAD for shares in judged),
            f"Judged is nearest ≥ landmarks + {100 * AHEAD:.0f} points on grounds with domains; Waxman is printed.",
        )
    ]


def judge_heuristics(table: Table) -> list[Verdict]:
    """U2."""
    if not table("overlays"):
        return []
    peers = _middle(table)
    cells = {}
    for ground in (LAYERED, FLAT):
        for degree in ("NC", "LG1"):
            cells[ground, degree] = {
                name: 100 * mean(_overlay(table, ground, name, peers=peers, degree=degree), "discovered")
                for name in ("BEST", "WORST", "LINK", "RANDOM", "NEAREST")
            }
    return [
        Verdict(
            "U2",
            "DBest shows more of the underlay than random targets",
            "shape",
            "DBest slightly best, TarRand worst",
            "; ".join(
                f"{ground}, {degree}: " + ", ".join(f"{name} {share:.0f} %" for name, share in each.items())
                for (ground, degree), each in cells.items()
            ),
            f"{peers} peers, 5 seeds",
            all(each["BEST"] > each["RANDOM"] for (ground, _), each in cells.items() if ground == LAYERED),
            "Judged on transit-stub. NEAREST is ours: the k_L nearest of the peers that a walk visits.",
        )
    ]


def _middle(table: Table) -> int:
    """The size that most overlays have."""
    sizes: list[int] = [asked["peers"] for asked, _ in table.pairs("overlays")]
    return max(set(sizes), key=sizes.count)


def judge_delays(table: Table) -> list[Verdict]:
    """U3."""
    found: list[Verdict] = []
    if table("overlays"):
        most = max(table.settings("overlays", "peers"))
        rdp = {
            shown: mean(_overlay(table, FLAT, name, peers=most, degree="NC"), "rdp")
            for name, shown in HEURISTICS.items()
        }
        best = min(rdp, key=lambda each: rdp[each])
        plain, only = (_overlay(table, FLAT, name, peers=most, degree="NC") for name in ("WORST", "DOnly"))
        ours = _overlay(table, FLAT, "NEAREST", peers=most, degree="NC")
        ratios = [mean(only, name) / mean(plain, name) for name in ("rdp", "stress")]
        found += [
            Verdict(
                "U3",
                "RDP on Waxman without a degree limit, 10 targets",
                "value",
                "1.19 (± 0.15)",
                ", ".join(f"{name} {value:.2f}" for name, value in rdp.items()),
                f"{best} {spread_of(values(_overlay(table, FLAT, _key(best), peers=most, degree='NC'), 'rdp'))}",
                abs(rdp[best] - RDP) <= RDP_BAND,
                f"{most:,} peers. The nearest of the peers visited, ours: {mean(ours, 'rdp'):.2f}; each peer's ten "
                f"nearest and one distant link, by all delays: {mean(plain, 'nearest', 'rdp'):.2f}. Without the last "
                f"miles of the peers in between: {mean(plain, 'rdp_routers'):.2f} with DWorst. Without distant links "
                f"{100 * mean(plain, 'uncut'):.1f} % of all pairs are cut, with log2 N neighbours "
                f"{100 * mean(_overlay(table, FLAT, 'WORST', peers=_middle(table), degree='LG1'), 'uncut'):.0f} %.",
            ),
            Verdict(
                "U3 DOnly",
                "without places by routes, RDP and stress are higher",
                "shape",
                "up to 39 % and 30 % more",
                f"{100 * ratios[0] - 100:.0f} % more RDP, {100 * ratios[1] - 100:.0f} % more stress than DWorst",
                f"{most:,} peers, Waxman, no degree limit",
                ratios[0] >= ONLY_RDP and ratios[1] >= ONLY_STRESS,
            ),
        ]
    if table("last miles"):
        by_kind = {kind: table("last miles", last_mile=kind) for kind in ("link", "pair")}
        found.append(
            Verdict.printed(
                "U3 last miles",
                "RDP with last miles of 5 to 10 % of the mean delay of links, or of all pairs of routers",
                ", ".join(f"{kind} {mean(runs, 'rdp'):.2f}" for kind, runs in by_kind.items()),
                "DWorst, Waxman",
                "all routers",
            )
        )
    if table("anonymous"):
        shown = []
        for ground in table.settings("anonymous", "ground"):
            pair = [mean(table("anonymous", ground=ground, merged=merged), "rdp") for merged in (False, True)]
            shown.append(f"{ground} {pair[0]:.2f} taken for new ones, {pair[1]:.2f} merged by position")
        found.append(
            Verdict.printed("U3 anonymous", "RDP where a third of the routers is anonymous", "; ".join(shown), "ours")
        )
    return found


def _key(shown: str) -> str:
    return next(name for name, each in HEURISTICS.items() if each == shown)


def judge_growth(table: Table) -> list[Verdict]:
    """U4."""
    if not table("overlays"):
        return []
    sizes = table.settings("overlays", "peers")
    least, most = min(sizes), max(sizes)

    def by_size(ground: str, name: str, what: str) -> list[float]:
        return [mean(_overlay(table, ground, name, peers=size, degree="NC"), what) for size in (least, most)]

    rdp = {shown: by_size(FLAT, name, "rdp") for name, shown in HEURISTICS.items()}
    inferred = {shown: by_size(FLAT, name, "inferred") for name, shown in HEURISTICS.items()}
    above = sum(
        run["inferences"] > asked["targets"] + 1 + run["rejoins"] / asked["peers"]
        for asked, run in table.pairs("overlays")
    )
    stub = {shown: by_size(LAYERED, name, "rdp") for name, shown in HEURISTICS.items()}
    return [
        Verdict(
            "U4",
            f"RDP falls from {least} to {most:,} peers, and so does the share of pairs that is inferred",
            "shape",
            "both fall",
            "; ".join(f"{name} {one:.2f} → {other:.2f}" for name, (one, other) in rdp.items()),
            "inferred " + ", ".join(f"{name} {100 * a:.1f} → {100 * b:.1f} %" for name, (a, b) in inferred.items()),
            least < most and all(other < one for one, other in (*rdp.values(), *inferred.values())),
            "On transit-stub "
            + ", ".join(f"{name} {one:.2f} → {other:.2f}" for name, (one, other) in stub.items())
            + ".",
        ),
        Verdict(
            "U4 inferences",
            "a peer infers at most k_L + 1 routes, and one for each time it joins again",
            "exact",
            "k_L + 1",
            f"{above} overlays with more",
            f"{len(table('overlays'))} overlays",
            above == 0,
        ),
    ]


def judge_churn(table: Table) -> list[Verdict]:
    """U5."""
    if not table("churn"):
        return []

    def growth(share: float, walks: float) -> float:
        runs = table("churn", share=share, walks=walks)
        return mean(runs, "rdp_after") / mean(runs, "rdp_before")

    found = {share: growth(share, 0.0) for share in CHURN}
    walked = growth(CHURN[-1], 0.2)
    return [
        Verdict(
            "U5",
            "RDP after ten steps of churn",
            "value",
            "degrades slightly; not with walks",
            ", ".join(f"{100 * ratio - 100:+.0f} % at {100 * share:.0f} %" for share, ratio in found.items())
            + f"; {100 * walked - 100:+.0f} % at 12 % where a fifth walk again",
            f"{len(table('churn'))} runs",
            found[CHURN[0]] <= CHURN_LEAST and found[CHURN[-1]] <= CHURN_MOST and walked <= CHURN_WALKS,
        )
    ]


def judge_landmarks(table: Table) -> list[Verdict]:
    """U8."""
    runs = table("landmarks")
    if not runs:
        return []
    placed = sum(run["placed"] for run in runs)
    wrong = {name: sum(run[name] for run in runs) for name in ("repaired", "printed")}
    return [
        Verdict(
            "U8",
            "no child of a landmark tree stands beside one that lies before it",
            "exact",
            "cases 1 to 3",
            f"{wrong['repaired']} of {placed:,}; as printed, adopting one child, {wrong['printed']:,} "
            f"({100 * wrong['printed'] / placed:.0f} %)",
            f"{len(runs)} runs",
            wrong["repaired"] == 0 < wrong["printed"],
        )
    ]


def judge_selectivity(table: Table) -> list[Verdict]:
    """U11."""
    if not table("overlays"):
        return []
    peers = _middle(table)
    shown: dict[str, dict[str, list[float]]] = {}
    for ground in (LAYERED, FLAT):
        shown[ground] = {}
        for what, part in (("targets", "k_L"), ("selectivity", "σ")):
            settings = table.settings("overlays", what)
            shown[ground][part] = [
                100
                * fmean(
                    mean(_overlay(table, ground, name, peers=peers, degree="LG1", **{what: value}), "discovered")
                    for name in HEURISTICS
                )
                for value in settings
            ]
    rises = all(each[-1] > each[0] for each in shown[LAYERED].values())
    return [
        Verdict(
            "U11",
            "links discovered rise with k_L and σ on transit-stub, and fall slightly on Waxman",
            "shape",
            "rise; fall slightly",
            "; ".join(
                f"{ground}, {part}: " + " → ".join(f"{share:.1f} %" for share in each)
                for ground, parts in shown.items()
                for part, each in parts.items()
            ),
            f"{peers} peers, log2 N neighbours, mean of three heuristics",
            rises,
            "Judged on transit-stub.",
        )
    ]


def judge_counts(table: Table) -> list[Verdict]:
    """U12."""
    if not table("overlays"):
        return []
    peers = _middle(table)
    joins = {
        shown: mean(_overlay(table, FLAT, name, peers=peers, degree="NC"), "joins")
        for name, shown in HEURISTICS.items()
    }
    stress = {
        size: mean(_overlay(table, FLAT, "WORST", peers=size, degree="NC"), "stress")
        for size in table.settings("overlays", "peers")
    }
    return [
        Verdict(
            "U12",
            "MLink has most joins",
            "shape",
            "slightly more",
            ", ".join(f"{name} {count:.1f}" for name, count in joins.items()) + " per peer",
            f"{peers} peers, Waxman, no degree limit",
            joins["MLink"] > max(joins["DWorst"], joins["DBest"]),
            "Stress ratio of DWorst against peers: "
            + ", ".join(f"{value:.2f} with {size:,}" for size, value in stress.items())
            + ".",
        )
    ]
