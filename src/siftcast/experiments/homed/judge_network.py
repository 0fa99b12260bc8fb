"""Rows H3 to H6 of the repaired protocol, from networks in the simulator. Means are over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log2
from statistics import fmean

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Result, Table, mean, values

GROWTH_MAX = 1.5
"""By how much the ratio of a cost to log2 N may grow, from the least judged size to the largest."""
JUDGED_NODES_MIN = 256
ROUTE_BAND = (0.5, 1.5)
"""Hops of a newcomer, in units of half of log2 N."""
DEPTH_SHARE_MIN = 0.99
WRONGS = ("undelivered", "unreached", "wrong", "repeated")
_GROWING = "topics"


def judge_growth(table: Table) -> list[Verdict]:
    """H3 and H4."""
    if not table("growth"):
        return []
    return [*_costs(table), *_dissemination(table)]


def message_bound(interested: float, nodes: int) -> float:
    """What H4 allows an event to take."""
    return 1.25 * interested + 1.5 * log2(nodes)


def growth(table: Table, read: Callable[[Result], float]) -> dict[int, list[float]]:
    """A number of each seed, by nodes, of the workload that is run at all sizes."""
    sizes = table.settings("growth", "nodes")
    found = {size: [read(run) for run in table("growth", workload=_GROWING, nodes=size)] for size in sizes}
    return {size: each for size, each in found.items() if each}


def ratio_of_growth(means: dict[int, float]) -> float | None:
    """How much the ratio to log2 N grows over the judged sizes, or over all if they are fewer than two."""
    judged = [size for size in means if size >= JUDGED_NODES_MIN]
    sizes = judged if len(judged) > 1 else list(means)
    if len(sizes) < 2:
        return None
    least, largest = min(sizes), max(sizes)
    return (means[largest] / log2(largest)) / (means[least] / log2(least))


def _costs(table: Table) -> list[Verdict]:
    verdicts = []
    for name, what, paper, read in (
        ("subscribe", "messages of a subscription", "log N + 2d", lambda run: run["subscribe"]["messages"]),
        ("unsubscribe", "messages of an unsubscription", "3d, one hop", lambda run: run["unsubscribe"]["messages"]),
        ("depth", "mean depth at which events arrive", "O(log N)", lambda run: run["events"]["depth_mean"]),
    ):
        by_size = growth(table, read)
        means = {size: fmean(each) for size, each in by_size.items()}
        ratio = ratio_of_growth(means)
        verdicts.append(
            Verdict(
                f"H3 {name}",
                f"{what} grow with log N" if name != "depth" else f"{what} grows with log N",
                "shape",
                paper,
                ", ".join(f"{value:.3g} at {size:,}" for size, value in means.items()),
                _spreads(by_size),
                ratio is not None and ratio <= GROWTH_MAX,
                f"From the least to the largest size judged, the ratio to log2 N grows {ratio:.2f}-fold "
                f"(at most {GROWTH_MAX}). {_names(table, name)}"
                if ratio is not None
                else "One size shows no growth.",
            )
        )
    return verdicts


def _names(table: Table, part: str) -> str:
    """What a request's messages are, at the largest size."""
    if part == "depth":
        return ""
    runs = table("growth", workload=_GROWING, nodes=max(growth(table, lambda run: 0.0)))
    names = runs[0][part]["by_name"]
    listed = ", ".join(f"{name} {mean(runs, part, 'by_name', name):.1f}" for name in names)
    return f"By name at the largest: {listed}; d is {runs[0]['bits']}, splits of a node {mean(runs, 'splits'):.1f}."


def _dissemination(table: Table) -> list[Verdict]:
    runs = table("growth")
    judged = [run for run in runs if run["nodes"] >= JUDGED_NODES_MIN]
    wrongs = {name: int(sum(values(runs, "events", name))) for name in WRONGS}
    required = sum(values(runs, "events", "required"))
    verdicts = [
        Verdict(
            "H4",
            "every interested node gets every event once, on sparse cubes, while nobody comes or goes",
            "exact",
            "every interested node once",
            f"{wrongs['undelivered'] + wrongs['unreached']} missed, {wrongs['repeated']} repeated, {wrongs['wrong']} "
            f"wrong of {required:,.0f} deliveries",
            f"{len(runs)} networks",
            not any(wrongs.values()) and required > 0,
        )
    ]
    if judged:
        verdicts += [_messages(judged), _depths(judged)]
    verdicts += [_routing(table), _uninterested(runs)]
    return verdicts


def _messages(judged: Sequence[Result]) -> Verdict:
    rows = []
    for key, group in _by_network(judged).items():
        sent, interested = mean(group, "events", "messages"), mean(group, "events", "interested")
        rows.append((key, sent, interested, message_bound(interested, group[0]["nodes"])))
    return Verdict(
        "H4 messages",
        "mean messages of an event ≤ 1.25·interested + 1.5·log2 N, segment digests, N ≥ 256",
        "value",
        "1.25·interested + 1.5·log2 N",
        "; ".join(f"{key}: {sent:.1f} of {bound:.1f}" for key, sent, _, bound in rows),
        _by_seed(judged, "messages"),
        all(sent <= bound for _, sent, _, bound in rows),
        "Interested in the mean: " + ", ".join(f"{key} {count:.1f}" for key, _, count, _ in rows) + ".",
    )


def _depths(judged: Sequence[Result]) -> Verdict:
    shares = {key: mean(group, "events", "depth_share") for key, group in _by_network(judged).items()}
    deepest = max(values(judged, "events", "depth_max"))
    return Verdict(
        "H4 depth",
        "99 % of interested nodes get an event within log2 N + 2 hops of its publisher",
        "value",
        "≥ 99 %",
        ", ".join(f"{key} {100 * share:.2f} %" for key, share in shares.items()),
        f"deepest of all {deepest:.0f}",
        min(shares.values()) >= DEPTH_SHARE_MIN,
    )


def _routing(table: Table) -> Verdict:
    by_size = growth(table, lambda run: run["subscribe"]["hops"])
    units = {size: fmean(each) / (0.5 * log2(size)) for size, each in by_size.items() if size >= JUDGED_NODES_MIN}
    units = units or {size: fmean(each) / (0.5 * log2(size)) for size, each in by_size.items()}
    low, high = ROUTE_BAND
    return Verdict(
        "H4 routing",
        "routing takes about ½·log2 N hops (a newcomer on its way to its place)",
        "value",
        "½·log2 N, ± half of it",
        ", ".join(f"{fmean(by_size[size]):.2f} hops at {size:,}" for size in units),
        _spreads(by_size),
        all(low <= unit <= high for unit in units.values()),
        "In units of ½·log2 N: " + ", ".join(f"{unit:.2f} at {size:,}" for size, unit in units.items()) + ".",
    )


def _uninterested(runs: Sequence[Result]) -> Verdict:
    groups = by_group(runs)
    return Verdict.printed(
        "H4 uninterested",
        "nodes that take part without being interested, by the number of interested nodes",
        ", ".join(
            f"{name}: {100 * row['uninterested'] / max(row['uninterested'] + row['interested'], 1):.0f} %"
            for name, row in groups.items()
        ),
        "share of participants; messages for each interested node "
        + ", ".join(
            f"{name}: {row['messages'] / row['interested']:.1f}" for name, row in groups.items() if row["interested"]
        ),
        "none",
    )


def judge_recovery(table: Table) -> list[Verdict]:
    """H5."""
    runs = table("recovery")
    if not runs:
        return []
    outside = max(values(runs, "outside_max"))
    wrong = sum(sum(values(runs, "events", name)) for name in WRONGS)
    required = sum(values(runs, "events", "required"))
    crashes = int(sum(values(runs, "crashes")))
    sizes = table.settings("recovery", "nodes")
    return [
        Verdict(
            "H5",
            "only neighbours and contact holders of a lost node take part in its recovery, found out by heartbeats",
            "exact",
            "only neighbours of the leaving node are involved",
            f"at most {outside:.0f} others in {crashes} crashes; then {wrong:.0f} faults in {required:,.0f} deliveries",
            f"{len(runs)} networks",
            outside == 0 and wrong == 0 and required > 0 and min(values(runs, "participants")) > 0,
        ),
        Verdict.printed(
            "H5 cost",
            "participants of a recovery, of neighbours and holders; seconds until nobody counts on the lost node",
            "; ".join(
                f"{mean(each, 'participants'):.1f} of {mean(each, 'allowed'):.1f} and "
                f"{mean(each, 'took_ms') / 1_000:.0f} s at {size:,} nodes"
                for size, each in ((size, table("recovery", nodes=size)) for size in sizes)
            ),
            f"beats every 2 s; tables elsewhere that change meanwhile {mean(runs, 'replaced_outside'):.1f}",
        ),
    ]


def judge_variants(table: Table) -> list[Verdict]:
    """H6: each kind works; what it costs stands in the note."""
    runs = table("variants")
    verdicts = []
    for kind, claim in (
        ("duplicates", "equal digests, divided by identifiers or in a tree"),
        ("addressed", "receivers selected by their identifier"),
        ("k-ary", "k-ary cubes, rows with all digits or with the nearest two"),
        ("piggyback", "filters carried by beats keep false positives away and lose nothing"),
        ("positions", "several subscriptions a node, in one position or in four"),
    ):
        chosen = [run for run in runs if run["kind"] == kind]
        if not chosen:
            continue
        by_name = {name: [run for run in chosen if run["variant"] == name] for name in _names_of(chosen)}
        faults = {name: _faults(kind, each) for name, each in by_name.items()}
        required = sum(values(chosen, "events", "required"))
        costs = "; ".join(f"{name}: {_cost(kind, each)}" for name, each in by_name.items())
        fewer = kind != "piggyback" or _falls([mean(each, "events", "false") for each in by_name.values()])
        verdicts.append(
            Verdict(
                f"H6 {kind}",
                claim,
                "exact",
                "works, at a cost",
                f"{sum(faults.values()):.0f} faults in {required:,.0f} deliveries",
                f"{len(chosen)} networks",
                not any(faults.values()) and required > 0 and fewer,
                f"{costs}.",
            )
        )
    return verdicts


def _faults(kind: str, runs: Sequence[Result]) -> float:
    """Deliveries missed, wrong or doubled; nodes of one position are to be sent nothing twice."""
    counted = ["undelivered", "wrong"]
    if kind not in ("piggyback", "positions"):
        counted.append("unreached")
    if kind != "positions":
        counted.append("repeated")
    return sum(sum(values(runs, "events", name)) for name in counted)


def _cost(kind: str, runs: Sequence[Result]) -> str:
    sent, wanted = mean(runs, "events", "messages"), mean(runs, "events", "interested")
    text = f"{sent:.1f} messages for {wanted:.1f} interested, depth {mean(runs, 'events', 'depth_mean'):.1f}"
    if kind == "piggyback":
        return f"{sent:.1f} messages, {mean(runs, 'events', 'false'):.1f} of them unwanted, " + (
            f"{mean(runs, 'filters_per_beat'):.1f} filters a beat"
        )
    if kind == "positions":
        return f"{text}, {mean(runs, 'events', 'repeated_share'):.0%} sent twice, {mean(runs, 'entries'):.0f} contacts"
    return f"{text}, {mean(runs, 'entries'):.0f} contacts"


def _falls(numbers: Sequence[float]) -> bool:
    return numbers[-1] < numbers[0] and all(later <= earlier for earlier, later in pairwise(numbers))


def _names_of(runs: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(run["variant"] for run in runs))


def by_group(runs: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Sums over events, by the number of interested nodes."""
    found: dict[int, dict[str, float]] = {}
    for run in runs:
        for least, row in run["events"]["by_group"].items():
            total = found.setdefault(int(least), dict.fromkeys(row, 0.0))
            for name, number in row.items():
                total[name] += number
    starts = sorted(found)
    names = [
        f"{start}" if beyond == start + 1 else f"{start}–{beyond - 1}" if beyond else f"from {start}"
        for start, beyond in zip(starts, [*starts[1:], 0], strict=True)
    ]
    return dict(zip(names, (found[start] for start in starts), strict=True))


def _by_network(runs: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for run in runs:
        found.setdefault(f"{run['workload']} {run['nodes']:,}", []).append(run)
    return dict(sorted(found.items(), key=lambda item: (item[1][0]["workload"], item[1][0]["nodes"])))


def _by_seed(runs: Sequence[Result], name: str) -> str:
    return "; ".join(f"{key} {spread_of(values(group, 'events', name))}" for key, group in _by_network(runs).items())


def _spreads(by_size: dict[int, list[float]]) -> str:
    return "; ".join(f"{size:,}: {spread_of(each)}" for size, each in by_size.items())
