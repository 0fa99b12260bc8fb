"""What is printed of published maps, of the triangle of delays, and of coordinates. Nothing of it is judged."""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table, mean, values
from siftcast.experiments.underlay.maps import MAPS, MATRIX, VARIABLE
from siftcast.experiments.underlay.measure_maps import NEAREST, SLACKS

OVERLAYS = ("DWorst", "DBest", "MLink", "TarRand", "DOnly", "ours", NEAREST)
_MEASURES = (("rdp", "RDP", 1.0, ""), ("stress", "stress", 1.0, ""), ("discovered", "discovered", 100.0, " %"))
_COSTS = ("OPT", "MST", "SPotent, one core", "SPotent, many cores", "CNeigh, one core", "CNeigh, many cores")


def print_maps(table: Table) -> list[Verdict]:
    """U1, U2, U3 and U6 on published maps."""
    if not table("overlays"):
        return []
    if not table("maps"):
        claim, why = "published maps and measured delays", f"left out: {VARIABLE} named no folder that has them"
        return [Verdict.printed("U3 maps", claim, why, "—")]
    found = []
    for ground in (*MAPS, MATRIX):
        for degree in ("NC", "LG1"):
            runs = table("maps", ground=ground, degree=degree)
            if runs:
                found.append(_print_overlays(ground, degree, runs))
        runs = table("maps", ground=ground, degree="NC")
        if runs:
            found.append(_print_costs(ground, runs))
        if runs and ground != MATRIX:
            found.append(_print_targets(ground, runs))
    return found


def _print_overlays(ground: str, degree: str, runs: Sequence[Result]) -> Verdict:
    measures = _MEASURES if ground != MATRIX else _MEASURES[:1]
    shown = "; ".join(
        f"{label}: "
        + ", ".join(
            f"{name} {scale * mean(runs, 'overlays', name, what):.{0 if unit else 2}f}{unit}" for name in OVERLAYS
        )
        for what, label, scale, unit in measures
    )
    rdp = {name: mean(runs, "overlays", name, "rdp") for name in OVERLAYS}
    links = mean(runs, "overlays", NEAREST, "links") / mean(runs, "overlays", "ours", "links")
    best = min(rdp, key=lambda each: rdp[each])
    cut = sum(run["overlays"][name]["cut"] > 0 for run in runs for name in OVERLAYS)
    placed = "placed by the triangle of delays" if ground == MATRIX else "placed by routes"
    return Verdict.printed(
        f"U3 {ground}, {degree}",
        f"{runs[0]['peers']} peers on {ground}, {placed}",
        shown,
        f"ours, RDP {spread_of(values(runs, 'overlays', 'ours', 'rdp'))}; least RDP: {best}; {NEAREST} has "
        f"{links:.2f} times the links of ours; {cut} of {len(runs) * len(OVERLAYS)} overlays are cut",
    )


def _print_costs(ground: str, runs: Sequence[Result]) -> Verdict:
    def delay(name: str) -> float:
        return mean(runs, "costs", name, "base_ms") / mean(runs, "costs", "DWorst", "base_ms")

    shown = "; ".join(
        f"over {over} (OPT {delay(over):.2f}): "
        + ", ".join(f"{name} {mean(runs, 'costs', over, name, 'cost'):.2f}" for name in _COSTS[1:])
        for over in ("DWorst", "ours", NEAREST)
    )
    crossed = ", ".join(f"{name} {mean(runs, 'costs', 'DWorst', name, 'messages'):.2f}" for name in _COSTS)
    return Verdict.printed(
        f"U6 {ground}",
        f"costs beside OPT over the same overlay, one core and {runs[0]['costs']['DWorst']['cores']}, all pairs",
        shown,
        f"messages per delivery over DWorst: {crossed}",
    )


def _print_targets(ground: str, runs: Sequence[Result]) -> Verdict:
    shown = ", ".join(f"{kind} {100 * mean(runs, 'targets', kind):.0f} %" for kind in runs[0]["targets"])
    return Verdict.printed(
        f"U1 {ground}",
        "the part of the map that ten targets show",
        shown,
        f"nearest {spread_of(values(runs, 'targets', 'nearest'))}",
    )


def print_triangle(table: Table) -> list[Verdict]:
    """Places by delays beside places by routes."""
    found = []
    for ground in table.settings("triangle", "ground"):
        for degree in table.settings("triangle", "degree"):
            for noise in table.settings("triangle", "noise"):
                runs = table("triangle", ground=ground, degree=degree, noise=noise)
                if runs:
                    found.append(_print_triangle(ground, degree, noise, runs))
    return found


def _print_triangle(ground: str, degree: str, noise: float, runs: Sequence[Result]) -> Verdict:
    def cell(name: str) -> str:
        return f"{mean(runs, name, 'rdp'):.2f} / {mean(runs, name, 'stress'):.2f}"

    shown = "; ".join(
        f"{rule}: routes {cell(f'{rule}, routes')}, "
        + ", ".join(f"ε = {slack:g} {cell(f'{rule}, triangle {slack:g}')}" for slack in SLACKS)
        + f", not placed {cell(f'{rule}, not placed')}"
        for rule in ("DWorst", "ours")
    )
    usual = f"ours, triangle {SLACKS[1]:g}"
    return Verdict.printed(
        f"U3 triangle, {ground}, {degree}, noise {100 * noise:.0f} %",
        "RDP / stress where the triangle of delays places peers",
        f"{shown}; {NEAREST} {cell(NEAREST)}",
        f"per peer: {mean(runs, 'ours, routes', 'inferences'):.1f} traceroutes and "
        f"{mean(runs, 'ours, routes', 'probes'):.0f} probes, or {mean(runs, usual, 'probes'):.0f} probes; joins "
        f"{mean(runs, 'ours, routes', 'joins'):.0f}, or {mean(runs, usual, 'joins'):.0f}; RDP "
        f"{spread_of(values(runs, usual, 'rdp'))}",
    )


def print_coordinates(table: Table) -> list[Verdict]:
    """Neighbours chosen by Vivaldi's delays."""
    found = []
    for ground in table.settings("coordinates", "ground"):
        runs = table("coordinates", ground=ground)
        shown = ", ".join(
            f"{rule} {mean(runs, 'measured', rule, 'rdp'):.2f} by measured delays and "
            f"{mean(runs, 'predicted', rule, 'rdp'):.2f} by predicted ones"
            for rule in ("ours", NEAREST)
        )
        found.append(
            Verdict.printed(
                f"U3 coordinates, {ground}",
                "RDP where neighbours are chosen by Vivaldi coordinates",
                shown,
                f"{runs[0]['peers']} peers; relative error of a prediction {mean(runs, 'error_median'):.2f} in the "
                f"median, {mean(runs, 'error_90'):.2f} for one in ten",
            )
        )
    return found
