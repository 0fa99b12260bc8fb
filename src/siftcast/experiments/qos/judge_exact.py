"""Rows Q1, Q2, Q3, Q9 and Q10: what holds or is a bug."""

from __future__ import annotations

from siftcast.experiments.claims import Verdict
from siftcast.experiments.table import Result, Table

EXPECTED = {
    "f2": "{001, 011}",
    "f2 coarsened": "{0}",
    "figure 2.6": "{0000, 0010, 1000, 1010}",
    "figure 2.6 coarsened": "{00, 10}",
    "figure 2.6 finer": "{0000, 0010, 1000, 1010}",
    "figure 2.6 with stars": "{*0*0}",
    "figure 2.6 mapped with stars": "{*0*0}",
}
_BOTH, _ONE = {"accepted": True, "kept": 2}, {"accepted": True, "kept": 1}


def judge_examples(table: Table) -> list[Verdict]:
    """Q1 and Q9."""
    runs = table("examples")
    if not runs:
        return []
    (run,) = runs
    wrong = [name for name, text in EXPECTED.items() if run[name] != text]
    placed = run["EXPERIENCED p → q → s"], run["EXPERIENCED p → s → q"], run["EXPERIENCED_STRICTLY p → q → s"]
    return [
        Verdict(
            "Q1",
            "the examples of sections 2.3.1, 2.5.1 and 2.6",
            "exact",
            "; ".join(f"{name} {text}" for name, text in EXPECTED.items()),
            "all as printed" if not wrong else "; ".join(f"{name} {run[name]}" for name in wrong),
            "—",
            not wrong,
            f"Algorithm 4 as printed maps the first to {{{run['printed mapping of f2'][0] or 'ε'}}}.",
        ),
        Verdict(
            "Q9",
            "section 2.7: p → q → s keeps both bounds, p → s → q does not, and q accepts s",
            "exact",
            "accepted",
            f"with ≤ {_placed(placed[0])}, the other way {_placed(placed[1])}; with < {_placed(placed[2])}",
            "—",
            placed[0] == _BOTH and placed[1] == _ONE and not placed[2]["accepted"],
            "Printed is D(q) + d(q, s) < Δ(s): 3 + 2 < 5 rejects the thesis's own example.",
        ),
    ]


def _placed(found: Result) -> str:
    return f"{'accepted' if found['accepted'] else 'rejected'}, {found['kept']} of 2 bounds kept"


def judge_mapping(table: Table) -> list[Verdict]:
    """Q2."""
    runs = table("mapping")
    if not runs:
        return []
    total = {name: sum(run[name] for run in runs) for name in runs[0] if not name.endswith("excess")}
    excess = max(run["printed excess"] for run in runs)
    by_attributes = ", ".join(
        f"{100 * sum(run['printed above'] for run in found) / sum(run['asked'] for run in found):.0f} % with {number}"
        for number in table.settings("mapping", "attributes")
        for found in [table("mapping", attributes=number)]
    )
    return [
        Verdict(
            "Q2",
            "Algorithm 4 gives at most θ expressions that enclose the subscription",
            "exact",
            "always",
            f"repaired: {total['repaired above']} above θ and {total['repaired open']} that do not enclose, of "
            f"{total['asked']:,}; as printed {total['printed above']:,} above θ, by {excess} at most",
            f"{len(runs)} runs",
            total["repaired above"] == total["repaired open"] == 0 < total["asked"]
            and total["printed above"] > 0
            and excess == 1,
            f"As printed, θ + 1 comes out for {by_attributes} attributes. With the free j of lines 11, 14 and 16 read "
            f"as 'some dimension', {100 * total['some open'] / total['asked']:.0f} % do not enclose.",
        )
    ]


def judge_properties(table: Table) -> list[Verdict]:
    """Q3."""
    runs = table("properties")
    if not runs:
        return []
    plain = [run for run in runs if not run["real"]]
    real = [run for run in runs if run["real"]]
    counted = {name: sum(run[name] for run in runs) for name in ("required", "missed", "unwanted", "repeated", "late")}
    asked = sum(run["connects_printed"] for run in runs), sum(run["connects"] for run in runs)
    wide = max(run["children_max"] - run["degree"] for run in runs)
    hurried = sum(run["tighter_children"] for run in plain)
    wrong = sum(counted[name] for name in ("missed", "unwanted", "repeated", "late"))
    calm = all(run["calm"] for run in runs)
    stars = {kind: sum(run["required"] for run in runs if run["wildcards"] is kind) for kind in (False, True)}
    return [
        Verdict(
            "Q3",
            "properties 1 to 4 hold after convergence: no event is missed, unwanted or repeated",
            "exact",
            "always",
            f"{counted['missed']} missed, {counted['unwanted']} unwanted, {counted['repeated']} repeated, "
            f"{counted['late']} late of {counted['required']:,}; most children beyond m: {max(wide, 0)}; children in "
            f"more of a hurry than their parent: {hurried}",
            f"{len(runs)} networks",
            wrong == 0 and wide <= 0 and hurried == 0 and calm and min(stars.values()) > 0 and bool(plain),
            f"{stars[False]:,} of the deliveries with plain expressions and {stars[True]:,} with stars. Algorithm 2 "
            f"sent {asked[1]} requests to publishers, {asked[0]} with line 3 as printed."
            + ("" if calm else " Some networks did not come to rest."),
        ),
        *(
            [
                Verdict.printed(
                    "Q3 section 2.7",
                    "links whose child is in more of a hurry than the parent, with section 2.7's acceptance",
                    f"{sum(run['tighter_children'] for run in real)} of {sum(run['links'] for run in real):,}",
                    f"{len(real)} networks",
                    "property 2 is given up",
                )
            ]
            if real
            else []
        ),
    ]


def judge_bandwidth(table: Table) -> list[Verdict]:
    """Q10."""
    runs = table("bandwidth")
    if not runs:
        return []
    total = {name: sum(run[name] for run in runs) for name in runs[0] if name != "notified"}
    rounds = sum(run["peers"] * run["rounds"] for run in runs)
    return [
        Verdict(
            "Q10",
            "the rate of a peer stays within B/(m + 1); refining drops children that are no longer covered",
            "exact",
            "always",
            f"of peers that take something on, {total['above']} above it after refining, and {total['steady_above']} "
            f"of {total['steady']:,} in the mean of ten rounds; {total['uncovered']} children kept uncovered",
            f"{len(runs)} runs",
            total["above"] == total["steady_above"] == total["uncovered"] == 0
            and min(total["refined"], total["let_go"], total["coarse"], total["steady"]) > 0,
            "Judged are peers that took something on in all ten rounds. Of those that did in some only, "
            f"{total['brief_above']} of {total['brief']:,} were above it in these: what is taken on is estimated, "
            "and found out within a round. At first all were judged, by the sum of their rounds against ten times the "
            "limit (0 of 1,243 above it), which was too lenient. "
            f"{100 * total['coarse'] / rounds:.0f} % of the peers took something on in the mean round; "
            f"{total['refined']:,} times one refined, and let go {total['let_go']:,} wants of children. In "
            f"{100 * total['bare'] / rounds:.1f} % a peer's own subscription alone exceeded its bandwidth, "
            "where hot spots had moved into it: that is never refined. Between a change of rates and the count at the "
            "end of the same round, rates exceed bandwidths.",
        )
    ]
