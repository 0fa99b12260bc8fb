"""Row U3: the delay penalty and the stress of overlays, and what the readings that were not chosen give."""

from __future__ import annotations

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Table, mean, values
from siftcast.experiments.underlay.judge_overlays import BASELINE, HEURISTICS, NAMES, baseline, middle, overlays
from siftcast.experiments.underlay.setup import DEGREES, FLAT, LAYERED

RDP, RDP_BAND = 1.19, 0.15
ONLY_RDP, ONLY_STRESS = 1.15, 1.08


def judge_delays(table: Table) -> list[Verdict]:
    """All that is judged or printed about delays."""
    judges = (_judge_rdp, _judge_donly, _print_baseline) if table("overlays") else ()
    return [each(table) for each in judges] + _print_last_miles(table) + _print_anonymous(table)


def _judge_rdp(table: Table) -> Verdict:
    most = max(table.settings("overlays", "peers"))
    runs = {shown: overlays(table, FLAT, name, peers=most, degree="NC") for name, shown in HEURISTICS.items()}
    rdp = {shown: mean(each, "rdp") for shown, each in runs.items()}
    by_seed = [sum(each) / len(each) for each in zip(*(values(each, "rdp") for each in runs.values()), strict=True)]
    chosen, best = sum(rdp.values()) / len(rdp), min(rdp, key=lambda each: rdp[each])
    plain = runs["DWorst"]
    smaller = ", ".join(
        f"{shown} {mean(overlays(table, FLAT, name, peers=middle(table), degree='NC'), 'rdp'):.2f}"
        for name, shown in HEURISTICS.items()
    )
    limited = []
    for ground in (FLAT, LAYERED):
        tight = overlays(table, ground, "WORST", peers=middle(table), degree="LG1")
        limited.append(f"{ground} {100 * mean(tight, 'cut_without_distant'):.0f} %")
    cut = sum(run["cut"] > 0 for run in table("overlays"))
    return Verdict(
        "U3",
        "RDP on Waxman without a degree limit, 10 targets",
        "value",
        f"{RDP} (± {RDP_BAND})",
        ", ".join(f"{name} {value:.2f}" for name, value in rdp.items()) + f"; mean {chosen:.2f}",
        f"mean of the three: {spread_of(by_seed)}",
        abs(chosen - RDP) <= RDP_BAND,
        f"{most:,} peers. Judged is the mean of the three, because the thesis does not say which; the best, {best}, "
        f"alone {'would hold' if abs(rdp[best] - RDP) <= RDP_BAND else 'would not hold'}. With {middle(table)} peers "
        f"{smaller}. The mean of the ratios is {mean(plain, 'rdp_mean'):.2f} with DWorst; without the last miles of "
        f"the peers in between RDP is {mean(plain, 'rdp_routers'):.2f}. Without distant links "
        f"{100 * mean(plain, 'cut_without_distant'):.1f} % of all pairs are cut, with log2 N neighbours "
        f"{', '.join(limited)}; with them {cut} overlays are cut at all.",
    )


def _judge_donly(table: Table) -> Verdict:
    sizes = sorted({middle(table), max(table.settings("overlays", "peers"))})

    def ratios(size: int, degree: str, name: str = "WORST") -> tuple[float, float]:
        plain, only = (overlays(table, FLAT, each, peers=size, degree=degree) for each in (name, "DOnly"))
        return mean(only, "rdp") / mean(plain, "rdp"), mean(only, "stress") / mean(plain, "stress")

    found = {size: ratios(size, "NC") for size in sizes}
    seeds = [
        one["rdp"] / other["rdp"]
        for one, other in zip(
            *(overlays(table, FLAT, each, peers=sizes[-1], degree="NC") for each in ("DOnly", "WORST")), strict=True
        )
    ]
    links = {each: mean(overlays(table, FLAT, each, peers=sizes[-1], degree="NC"), "links") for each in NAMES}
    only = mean(overlays(table, FLAT, "DOnly", peers=sizes[-1], degree="NC"), "links")
    return Verdict(
        "U3 DOnly",
        "without places by routes, RDP and stress are higher",
        "shape",
        "up to 39 % and 30 % more",
        "; ".join(f"{size:,} peers: {_more(each)}" for size, each in found.items()),
        f"RDP beside DWorst: {spread_of(seeds)}",
        all(rdp >= ONLY_RDP and stress >= ONLY_STRESS for rdp, stress in found.values()),
        f"Waxman, no degree limit, beside DWorst; judged: at least {100 * ONLY_RDP - 100:.0f} % and "
        f"{100 * ONLY_STRESS - 100:.0f} %. With {sizes[0]} peers by degree limit: "
        + "; ".join(f"{degree} {_more(ratios(sizes[0], degree))}" for degree in DEGREES)
        + f". Beside MLink with √N: {_more(ratios(sizes[0], 'SQ', 'LINK'))}. It has {only / links['WORST']:.2f} times "
        "the links of DWorst.",
    )


def _more(ratios: tuple[float, float]) -> str:
    return f"{100 * ratios[0] - 100:+.0f} % RDP, {100 * ratios[1] - 100:+.0f} % stress"


def _print_baseline(table: Table) -> Verdict:
    """Where the nearest by delays win, the page says so."""
    peers, shown, wins = middle(table), [], []
    for ground in (FLAT, LAYERED):
        for degree in DEGREES:
            asked = {"peers": peers, "degree": degree}
            rdp = {each: mean(overlays(table, ground, name, **asked), "rdp") for name, each in NAMES.items()}
            near = baseline(table, ground, "rdp", **asked)
            links = mean(overlays(table, ground, "NEAREST", **asked), "links")
            shown.append(
                f"{ground} {degree}: DWorst {rdp['DWorst']:.2f}, ours {rdp['ours']:.2f}, {BASELINE} {near:.2f} "
                f"({baseline(table, ground, 'links', **asked) / links:.2f} times the links of ours)"
            )
            printed = min(each for name, each in rdp.items() if name != "ours")
            wins.append((f"{ground} {degree}", near < printed, near < rdp["ours"]))
    won = ", ".join(cell for cell, beats_printed, _ in wins if beats_printed) or "nowhere"
    all_won = ", ".join(cell for cell, *beats in wins if all(beats)) or "nowhere"
    return Verdict.printed(
        "U3 baseline",
        "RDP of each peer's ten nearest by measured delays and one distant link, without any route",
        "; ".join(shown),
        f"{peers} peers. The baseline beats every heuristic of the thesis on: {won}; ours as well on: {all_won}",
    )


def _print_last_miles(table: Table) -> list[Verdict]:
    if not table("last miles"):
        return []
    by_kind = {kind: table("last miles", last_mile=kind) for kind in ("link", "pair")}
    shown = ", ".join(
        f"{kind} {mean(runs, 'rdp'):.2f} ({mean(runs, 'rdp_routers'):.2f} without those of relays; {BASELINE} "
        f"{mean(runs, 'nearest', 'rdp'):.2f})"
        for kind, runs in by_kind.items()
    )
    return [
        Verdict.printed(
            "U3 last miles",
            "RDP with last miles of 5 to 10 % of the mean delay of links, or literally of all pairs of routers",
            shown,
            f"DWorst, Waxman; literally {spread_of(values(by_kind['pair'], 'rdp'))}",
            "all routers",
        )
    ]


def _print_anonymous(table: Table) -> list[Verdict]:
    shown = []
    for ground in table.settings("anonymous", "ground"):
        none, distinct, prefix, neighbours = (
            mean(table("anonymous", ground=ground, share=share, merging=merging), "rdp")
            for share, merging in ((0.0, "NOT"), (1 / 3, "NOT"), (1 / 3, "PREFIX"), (1 / 3, "NEIGHBOURS"))
        )
        near = mean(table("anonymous", ground=ground, share=0.0), "nearest", "rdp")
        shown.append(
            f"{ground}: {none:.2f} where all answer, {distinct:.2f} if those that do not are taken for new ones, "
            f"{prefix:.2f} if merged by the way to them, {neighbours:.2f} by the router behind them too; {BASELINE} "
            f"{near:.2f}"
        )
    if not shown:
        return []
    claim = "RDP where a third of the routers is anonymous"
    return [Verdict.printed("U3 anonymous", claim, "; ".join(shown), "ours, 2 log2 N neighbours")]
