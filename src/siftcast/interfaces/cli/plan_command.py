"""`siftcast plan ring`: a ring of matchers proposed from logs or from live rates, with what it will cost."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.text import Text

from siftcast.interfaces.cli.options import Authorities, JsonAnswer, Quiet, TypesFile
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import out
from siftcast.model import DataError, Schema

plan_app = App(name="plan", help="Propose how to lay a network out, from logs or from live rates.")
_UNITS = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_MEMORY_MAX = 1_000_000 * 2**40
_WEIGHT_MAX = 1_000_000


@plan_app.command
def ring(
    *,
    subscriptions: Path | None = None,
    events: Path | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    memory: str = "1GiB",
    latency_ms: float | None = None,
    rate: float | None = None,
    time: str | None = None,
    expected: int | None = None,
    nodes: int | None = None,
    members: Path | None = None,
    near: int | None = None,
    node_weights: str | None = None,
    replicas: int = 2,
    busy: float = 0.7,
    rendezvous: Literal["auto", "range", "hash", "none"] = "auto",
    key: str = "",
    hop_ms: float | None = None,
    handling_ms: float = 0.1,
    match_ms: str | None = None,
    output: Path | None = None,
    keep: Path | None = None,
    schema: TypesFile = None,
    token: str | None = None,
    authorities: Authorities = None,
    quiet: Quiet = False,
    json: JsonAnswer = False,
) -> int:
    """Propose a ring of matchers for these subscriptions and events, within a memory and a latency.

    It says how many nodes, clusters, replicas and parts, where to cut the content and why, and predicts latency,
    throughput and memory. Times of matching are measured on this machine. Rows that cannot be used go, each with its
    reason, to INPUT.rejected; the exit status is then 1.

    Example: siftcast plan ring --subscriptions subs.jsonl --events events.csv --rate 5000 --output new.toml

    Parameters
    ----------
    subscriptions
        Subscriptions: .jsonl, .csv or .parquet with the fields id and filter.
    events
        Events as they come: .jsonl, .csv, .parquet or .arrow, each also with .gz.
    from_
        A node of a running network. What it and the others have counted and measured is used: nodes, delays, events per
        second, subscriptions, and with --schema where in the content events lie. Files and options take precedence.
    memory
        What a node may use, as in 512MiB or 4GB.
    latency_ms
        How long matching may take on average, for the events of every zone.
    rate
        Events per second.
    time
        The attribute that says when an event was; the rate of the file follows from it.
    expected
        Plan for so many subscriptions like these; without it, for as many as there are.
    nodes
        How many nodes there are; without it, as few are proposed as suffice.
    members
        What siftcast members --json has printed, in place of the number of nodes.
    near
        The node that said who the members are knows all of so many that follow it in the order of identities, and not
        all others: the number of nodes is then estimated from how dense they are.
    node_weights
        How much each node can do, as in 2,1,1,1; nodes are taken in this order.
    replicas
        Nodes that keep each subscription, at least: all but one of them may fail.
    busy
        How busy a node may be; 1 is all of its time.
    rendezvous
        How the key has zones: cut into ranges, hashed, or none; auto finds out whether cuts pay.
    key
        The attribute that decides where events and subscriptions meet; without it, the best is chosen.
    hop_ms
        How long a message takes between two nodes; without it what --from has measured, or else 0.25.
    handling_ms
        How long a node is busy with receiving and answering an event, beside matching it.
    match_ms
        Times of matching instead of measured ones, as in 1000:0.02,100000:0.9: subscriptions and milliseconds.
    output
        Where to write the plan, for siftcast network apply.
    keep
        The configuration of a node: what its [overlay.options] say and a plan does not decide, such as delivery, is
        written with the plan. Without it those options are as by default once the plan is applied.
    token
        Says who asks; its principal needs see = true. SIFTCAST_TOKEN in the environment does too.
    """
    from siftcast.interfaces.cli.plan_report import configuration_of, kept_options, show_proposal, summary_of
    from siftcast.interfaces.cli.plan_run import RingRequest, in_range, propose
    from siftcast.planning.ring_costs import TIME_MS_MAX
    from siftcast.planning.ring_proposal import RingBounds

    if output is not None and output.is_dir():
        raise DataError(f"{output}: is a folder; name a file, as in new.toml")
    in_range("--latency-ms", latency_ms, 0, TIME_MS_MAX, "milliseconds")
    kept = {} if keep is None else kept_options(keep)
    bounds = RingBounds(
        expected or 0,
        parse_size(memory),
        inf if latency_ms is None else latency_ms,
        rate or 0.0,
        nodes,
        parse_weights(node_weights),
        replicas,
        busy,
    )
    request = RingRequest(
        bounds,
        subscriptions,
        events,
        from_,
        None if schema is None else Schema.load(schema),
        members,
        near,
        time,
        rendezvous,
        key,
        hop_ms,
        handling_ms,
        match_ms,
        token,
        authorities,
    )
    proposed = propose(request, progress=not (quiet or json))
    if output is not None:
        output.write_text(configuration_of(proposed, kept), encoding="utf-8")
    if json:
        out().print(Text(summary_of(proposed)), soft_wrap=True)
    elif not quiet:
        show_proposal(proposed, output)
    return REJECTED if proposed.log.rejected else OK


def parse_size(text: str) -> float:
    """Bytes, from text as in 512MiB; raises DataError."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    if found is None or found[2].lower() not in _UNITS:
        raise DataError(f"--memory is a size as in 512MiB or 4GB, not '{text}'")
    size = float(found[1]) * _UNITS[found[2].lower()]
    if size > _MEMORY_MAX:
        raise DataError(f"--memory is at most 1,000,000 TiB, not '{text}'")
    return size


def parse_weights(text: str | None) -> tuple[float, ...]:
    """Numbers above 0 and at most 1,000,000, as in 2,1,1; raises DataError."""
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(1 / _WEIGHT_MAX <= weight <= _WEIGHT_MAX for weight in found):
        raise DataError(
            f"--node-weights is a list of numbers above 0 and at most {_WEIGHT_MAX:,}, as in 2,1,1,1, not '{text}'"
        )
    return found
