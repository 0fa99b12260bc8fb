"""Rows U1, U2, U4, U11 and U12: what the topology discovery overlay shows, how it grows, and what it sends."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table, mean, values
from siftcast.experiments.underlay.setup import FLAT, LAYERED

HEURISTICS = {"WORST": "DWorst", "BEST": "DBest", "LINK": "MLink"}
NAMES = {**HEURISTICS, "RANDOM": "TarRand", "NEAREST": "ours"}
BASELINE = "k nearest"
AHEAD = 0.08
_KINDS = ("nearest", "landmarks", "farthest")
_USUAL: dict[str, Any] = {"targets": 10, "selectivity": 0.1}


def overlays(table: Table, ground: str, heuristic: str, **asked: Any) -> list[Result]:
    """Runs of one heuristic with the usual ten targets and σ = 0.1, if nothing else is said."""
    return table("overlays", ground=ground, heuristic=heuristic, **{**_USUAL, **asked})


def baseline(table: Table, ground: str, what: str, **asked: Any) -> float:
    """The same of the nearest by measured delays and one distant link."""
    return mean(overlays(table, ground, "WORST", **asked), "nearest", what)


def middle(table: Table) -> int:
    """The size that most overlays have."""
    sizes: list[int] = [asked["peers"] for asked, _ in table.pairs("overlays")]
    return max(set(sizes), key=sizes.count)


def in_percent(shares: dict[str, float]) -> str:
    """Shares by name."""
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())


def judge_targets(table: Table) -> list[Verdict]:
    """U1."""
    if not table("targets"):
        return []
    found: dict[tuple[str, int], dict[str, float]] = {}
    leads: dict[str, list[float]] = {}
    for ground in table.settings("targets", "ground"):
        for count in table.settings("targets", "targets"):
            runs = table("targets", ground=ground, targets=count)
            found[ground, count] = {kind: mean(runs, kind) for kind in _KINDS}
            leads.setdefault(ground, []).extend(run["nearest"] - run["landmarks"] for run in runs)
    judged = {at: shares for at, shares in found.items() if at[0] != FLAT}
    ordered = all(each["nearest"] > each["landmarks"] > each["farthest"] for each in judged.values())
    ahead = [each["nearest"] - each["landmarks"] for (ground, _), each in judged.items() if ground == LAYERED]
    return [
        Verdict(
            "U1",
            "the nearest targets show more of the underlay than landmarks, and these more than the farthest",
            "shape",
            "nearest > landmarks > farthest",
            "; ".join(f"{ground}, {count}: {in_percent(shares)}" for (ground, count), shares in found.items()),
            "lead of the nearest: "
            + "; ".join(f"{ground} {spread_of(each, 'runs')}" for ground, each in leads.items()),
            bool(ahead) and ordered and min(ahead) >= AHEAD,
            f"Judged on grounds with domains, 10 and 20 targets: the order, and on {LAYERED} a lead of "
            f"{100 * AHEAD:.0f} points. Waxman is printed.",
        )
    ]


def judge_heuristics(table: Table) -> list[Verdict]:
    """U2."""
    if not table("overlays"):
        return []
    peers = middle(table)
    cells = {}
    for ground in (LAYERED, FLAT):
        for degree in ("NC", "LG1"):
            asked = {"peers": peers, "degree": degree}
            cells[ground, degree] = {
                shown: mean(overlays(table, ground, name, **asked), "discovered") for name, shown in NAMES.items()
            } | {BASELINE: baseline(table, ground, "discovered", **asked)}
    judged = {at: each for at, each in cells.items() if at[0] == LAYERED}
    usual = {"peers": peers, "degree": "NC"}
    ahead = [
        one - other
        for one, other in zip(
            *(values(overlays(table, LAYERED, name, **usual), "discovered") for name in ("BEST", "RANDOM")),
            strict=True,
        )
    ]
    beaten = [each for each in judged.values() if all(each[name] > each["TarRand"] for name in HEURISTICS.values())]
    return [
        Verdict(
            "U2",
            "DBest shows more of the underlay than random targets",
            "shape",
            "all beat TarRand, DBest slightly best",
            "; ".join(f"{ground}, {degree}: {in_percent(each)}" for (ground, degree), each in cells.items()),
            f"lead of DBest, {LAYERED} NC: {spread_of(ahead)}",
            all(each["DBest"] > each["TarRand"] for each in judged.values()),
            f"{peers} peers. Judged on {LAYERED}. Literally, all three beat TarRand there in {len(beaten)} of "
            f"{len(judged)} cells. Ours: the k_L nearest of the peers that a walk visits. {BASELINE}: each peer's "
            "nearest by measured delays and a distant link.",
        )
    ]


def judge_growth(table: Table) -> list[Verdict]:
    """U4."""
    if not table("overlays"):
        return []
    sizes = table.settings("overlays", "peers")
    least, most = min(sizes), max(sizes)

    def by_size(ground: str, name: str, what: str) -> list[float]:
        return [mean(overlays(table, ground, name, peers=size, degree="NC"), what) for size in (least, most)]

    def shown(pairs: dict[str, list[float]]) -> str:
        return ", ".join(f"{name} {one:.2f} → {other:.2f}" for name, (one, other) in pairs.items())

    rdp = {shown: by_size(FLAT, name, "rdp") for name, shown in HEURISTICS.items()}
    inferred = {shown: [100 * x for x in by_size(FLAT, name, "inferred")] for name, shown in HEURISTICS.items()}
    stub = {shown: by_size(LAYERED, name, "rdp") for name, shown in (*HEURISTICS.items(), ("NEAREST", "ours"))}
    base = {
        ground: [baseline(table, ground, "rdp", peers=size, degree="NC") for size in (least, most)]
        for ground in (FLAT, LAYERED)
    }
    ours = by_size(FLAT, "NEAREST", "rdp")
    last = values(overlays(table, FLAT, "WORST", peers=most, degree="NC"), "rdp")
    greedy = sum(run["greedy"] for part in ("overlays", "churn") for run in table(part))
    asked = [each for part in ("overlays", "churn") for each, _ in table.pairs(part)]
    return [
        Verdict(
            "U4",
            f"RDP falls from {least} to {most:,} peers, and so does the share of pairs that is inferred",
            "shape",
            "both fall",
            f"RDP {shown(rdp)}; inferred, %: {shown(inferred)}",
            f"DWorst, {most:,} peers: {spread_of(last)}",
            least < most and all(other < one for one, other in (*rdp.values(), *inferred.values())),
            f"Waxman, no degree limit. Ours {ours[0]:.2f} → {ours[1]:.2f}, {BASELINE} {base[FLAT][0]:.2f} → "
            f"{base[FLAT][1]:.2f}. On transit-stub {shown(stub)}, {BASELINE} {base[LAYERED][0]:.2f} → "
            f"{base[LAYERED][1]:.2f}.",
        ),
        Verdict(
            "U4 inferences",
            "for no peer are more than k_L + 1 routes inferred, k_L for each walk again, and one each time it rejoins",
            "exact",
            "k_L + 1 + rejoins",
            f"{greedy} peers with more, of {sum(each['peers'] for each in asked):,}",
            f"{len(asked)} overlays, with and without churn",
            greedy == 0,
        ),
    ]


def judge_selectivity(table: Table) -> list[Verdict]:
    """U11."""
    if not table("overlays"):
        return []
    usual = {"peers": middle(table), "degree": "LG1"}
    shown: dict[str, dict[str, list[float]]] = {}
    changes = []
    for ground in (LAYERED, FLAT):
        shown[ground] = {}
        for what, part in (("targets", "k_L"), ("selectivity", "σ")):
            cells = [
                [values(overlays(table, ground, name, **usual, **{what: value}), "discovered") for name in HEURISTICS]
                for value in table.settings("overlays", what)
            ]
            shown[ground][part] = [100 * fmean(map(fmean, each)) for each in cells]
            if ground == LAYERED:
                by_seed = [[100 * fmean(each) for each in zip(*cell, strict=True)] for cell in (cells[0], cells[-1])]
                change = [b - a for a, b in zip(*by_seed, strict=True)]
                changes.append(f"{part} {spread_of(change)}")
    rises = all(each[-1] > each[0] for each in shown[LAYERED].values())
    base = [
        f"{ground} "
        + " → ".join(
            f"{100 * baseline(table, ground, 'discovered', **usual, targets=count):.1f} %"
            for count in table.settings("overlays", "targets")
        )
        for ground in (LAYERED, FLAT)
    ]
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
            f"points from the first to the last on {LAYERED}: " + ", ".join(changes),
            rises,
            f"{usual['peers']} peers, log2 N neighbours, mean of the thesis's three heuristics; k_L "
            f"{_listed(table, 'targets')}, σ {_listed(table, 'selectivity')}. Judged on transit-stub. "
            f"{BASELINE} with these k_L: {'; '.join(base)}.",
        )
    ]


def _listed(table: Table, what: str) -> str:
    return ", ".join(f"{value:g}" for value in table.settings("overlays", what))


def judge_counts(table: Table) -> list[Verdict]:
    """U12."""
    if not table("overlays"):
        return []
    sizes = table.settings("overlays", "peers")
    joins = {
        size: {
            shown: mean(overlays(table, FLAT, name, peers=size, degree="NC"), "joins")
            for name, shown in HEURISTICS.items()
        }
        for size in sizes
    }
    ahead = [size for size, each in joins.items() if each["MLink"] > max(each["DWorst"], each["DBest"])]
    stress = {
        size: {
            **{
                shown: mean(overlays(table, FLAT, name, peers=size, degree="NC"), "stress")
                for name, shown in HEURISTICS.items()
            },
            BASELINE: baseline(table, FLAT, "stress", peers=size, degree="NC"),
        }
        for size in sizes
    }
    steps, inferences = (
        {
            shown: mean(overlays(table, FLAT, name, peers=middle(table), degree="NC"), what)
            for name, shown in (*HEURISTICS.items(), ("NEAREST", "ours"))
        }
        for what in ("steps", "inferences")
    )
    limited = {
        shown: mean(overlays(table, FLAT, name, peers=middle(table), degree="LG1"), "joins")
        for name, shown in HEURISTICS.items()
    }
    return [
        Verdict(
            "U12",
            "MLink has most joins",
            "shape",
            "slightly more",
            "; ".join(f"{size:,}: {_numbers(each)}" for size, each in joins.items()) + " messages per peer",
            "MLink: " + spread_of(values(overlays(table, FLAT, "LINK", peers=middle(table), degree="NC"), "joins")),
            ahead == sizes,
            f"Waxman, no degree limit. MLink has most with {', '.join(map(str, ahead)) or 'no number of'} peers; with "
            f"log2 N neighbours {_numbers(limited)}. Stress ratio: "
            + "; ".join(f"{size:,} peers {_numbers(each, 2)}" for size, each in stress.items())
            + f". Steps of walks per peer: {_numbers(steps)}; routes inferred: {_numbers(inferences)}.",
        )
    ]


def _numbers(found: dict[str, float], digits: int = 1) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in found.items())
