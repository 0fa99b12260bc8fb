"""Rows R5, R6 and R7: what simulated runs came to. `judge` says what must hold."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from siftcast.experiments.claims import Verdict
from siftcast.experiments.rendezvous.profiles import APPLICATIONS, MEASURED, ROWS, found, profile_keys
from siftcast.experiments.rendezvous.setup import DELIVERIES, LAYERED, MATCHINGS, MONOLITHIC
from siftcast.experiments.table import Result, Table, mean

LATE_MAX = 0.01


def judge_pairs(table: Table) -> list[Verdict]:
    """R5."""
    runs = {(matching, delivery): table("pair", matching=matching, delivery=delivery)
            for matching in MATCHINGS for delivery in DELIVERIES}  # fmt: skip
    if not any(runs.values()):
        return []
    broken = [
        f"{matching} with {delivery}"
        for (matching, delivery), each in runs.items()
        if not each or any(run["violations"] or not run["required"] for run in each)
    ]
    every = [run for each in runs.values() for run in each]
    return [
        Verdict(
            "R5",
            "any matching runs with any delivery",
            "exact",
            "send(message, destinations)",
            f"{len(runs) - len(broken)} of {len(runs)} pairs deliver everything once "
            f"({sum(run['required'] for run in every):,} deliveries)"
            + (f"; not {', '.join(broken)}" if broken else ""),
            f"{len(every)} runs",
            not broken,
            "Messages an event: "
            + "; ".join(
                f"{matching}: "
                + ", ".join(f"{delivery} {mean(runs[matching, delivery], 'messages'):.1f}" for delivery in DELIVERIES)
                for matching in MATCHINGS
                if all(runs[matching, delivery] for delivery in DELIVERIES)
            )
            + ". A network multicast counts once for each receiver here.",
        )
    ]


def judge_applications(table: Table) -> list[Verdict]:
    """R6."""
    verdicts = []
    for application in APPLICATIONS:
        schemes = [
            scheme
            for scheme in (table.settings("application", "scheme") if table("application") else [])
            if table("application", application=application, scheme=scheme)
        ]
        runs = {scheme: table("application", application=application, scheme=scheme) for scheme in schemes}
        if "rendezvous" not in runs:
            continue
        verdicts.append(_served(application, runs["rendezvous"]))
        verdicts += [_under(application, scheme, each) for scheme, each in runs.items()]
    if verdicts:
        verdicts.append(_rows())
    return verdicts


def _served(application: str, runs: list[Result]) -> Verdict:
    wrong = sum(run["violations"] for run in runs)
    late = [run["late"] / run["judged"] if run["judged"] else 1.0 for run in runs]
    changes = sum(run["changes"] for run in runs)
    paper = APPLICATIONS[application].rows["maximum latency"].paper
    return Verdict(
        f"R6 {application}",
        "the ring delivers everything once and in time, while interests change",
        "value",
        f"within {paper}",
        f"{wrong} wrong or missing of {sum(run['required'] for run in runs):,}; {100 * max(late):.2f} % late; "
        f"{mean(runs, 'delay_ms', 'mean'):.1f} ms on average, {mean(runs, 'delay_ms', 'p99'):.1f} ms for 99 %",
        f"{len(runs)} seeds, {changes} changes of interest",
        wrong == 0 and all(run["required"] and run["changes"] for run in runs) and max(late) <= LATE_MAX,
        f"Waited for a server at most {max(run['wait_ms_max'] for run in runs):.2f} ms.",
    )


def _under(application: str, scheme: str, runs: list[Result]) -> Verdict:
    kbps_max = APPLICATIONS[application].kbps_max
    late = fmean(run["late"] / run["judged"] if run["judged"] else 0.0 for run in runs)
    wrong, kbps = sum(run["violations"] for run in runs), mean(runs, "publisher_kbps")
    return Verdict.printed(
        f"R6 {application}, {scheme}",
        "late; delay; messages an event and at the busiest server; control an event; kept a server; a publisher sends",
        f"{100 * late:.1f} % late; {mean(runs, 'delay_ms', 'mean'):.1f} ms, 99 % {mean(runs, 'delay_ms', 'p99'):.1f}; "
        f"{mean(runs, 'messages'):.1f} messages, {mean(runs, 'stress_max'):.2f} at the busiest; "
        f"{mean(runs, 'control_during'):.1f} control; {mean(runs, 'state_mean'):.0f} kept, at most "
        f"{mean(runs, 'state_max'):.0f}; {kbps:.2g} kbps"
        + (" (too much)" if kbps_max is not None and kbps > kbps_max else "")
        + (f"; {wrong} wrong or missing" if wrong else ""),
        f"{len(runs)} seeds",
        "—" if kbps_max is None else f"{kbps_max:g} kbps a publisher",
    )


def _rows() -> Verdict:
    """Whether all rows of the table are in the files, with the values that are claimed."""
    cells, absent = 0, []
    for name, application in APPLICATIONS.items():
        keys = profile_keys(name)
        for row in ROWS:
            cells += 1
            for key, value in application.rows[row].values.items():
                try:
                    said = key == MEASURED or found(keys, key) == value
                except KeyError:
                    said = False
                if not said:
                    absent.append(f"{name}: {key}")
    return Verdict(
        "R6 rows",
        "all eight rows of the table are in the scenarios",
        "exact",
        f"{len(ROWS)} rows of {len(APPLICATIONS)} applications",
        f"{cells - len(absent)} of {cells} cells" + (f"; not {', '.join(absent)}" if absent else ""),
        "—",
        not absent and cells == 40,
    )


def judge_layers(table: Table) -> list[Verdict]:
    """R7."""
    verdicts = []
    interests = table.settings("layers", "interest") if table("layers") else []
    for scheme, options in (*MONOLITHIC, *LAYERED):
        runs = {interest: table("layers", scheme=scheme, options=options, interest=interest) for interest in interests}
        shown = [
            f"{interest:.0%}: {mean(each, 'messages'):.1f} messages, {mean(each, 'event_bytes'):,.0f} bytes, "
            f"{mean(each, 'matches'):.1f} matches, {mean(each, 'delay_ms', 'mean'):.0f} ms"
            for interest, each in runs.items()
            if each
        ]
        if shown:
            verdicts.append(
                Verdict.printed(
                    f"R7 {scheme_name(scheme, options)}",
                    "an event's messages, bytes, matches and mean delay, by the share of servers that want it",
                    "; ".join(shown),
                    f"means over {max(len(each) for each in runs.values())} seeds",
                    "costs of layering are moderate" if scheme == "layered" else "—",
                )
            )
    return verdicts


def scheme_name(scheme: str, options: Mapping[str, object]) -> str:
    """What figures and tables call it."""
    return f"{options['matching']} + {options['delivery']}" if scheme == "layered" else scheme
