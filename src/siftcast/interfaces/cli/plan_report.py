"""How `siftcast plan ring` says what it proposes: for people, as JSON, and as the configuration to apply."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from siftcast.interfaces.cli.plan_run import Proposed
from siftcast.interfaces.cli.terminal import err, facts, out
from siftcast.model import DataError
from siftcast.planning.ring_proposal import PLANNED
from siftcast.schemes import scheme

_RULER = "─" * 24


def show_proposal(proposed: Proposed, output: Path | None) -> None:
    """Where the figures come from, the proposal, its predictions, and what else was tried."""
    console = out()
    console.print(facts(list(_sources(proposed).items())))
    console.print(Text(_RULER, "dim"))
    console.print(facts(list(proposed.ring.facts().items())))
    console.print(Text(f"\n{proposed.ring.tables()}"), soft_wrap=True)
    if output is not None:
        console.print(Text(f"\nwritten to {output}; to install it: siftcast network apply {output}"), soft_wrap=True)
    if proposed.live is not None and proposed.live.silent:
        err().print(Text(f"did not answer: {', '.join(proposed.live.silent)}", "yellow"), soft_wrap=True)


def _sources(proposed: Proposed) -> Mapping[str, str]:
    """What the plan was made from."""
    log, live, costs, bounds = proposed.log, proposed.live, proposed.costs, proposed.ring.bounds
    sizes, times_ms = costs.match.sizes, costs.match.times_ms
    timed = ", ".join(f"{size:,}: {time_ms:.4f} ms" for size, time_ms in zip(sizes, times_ms, strict=True))
    found = {
        "planned for": f"{bounds.subscriptions:,} subscriptions"
        + (f", {bounds.rate_s:,.0f} events/s" if bounds.rate_s else ", at any rate of events"),
        "match(store)": timed,
        "a message": f"{costs.hop_ms:.2f} ms on its way, {costs.handling_ms:.2f} ms of a node's time",
    }
    if log.events:
        found["events"] = f"{log.events:,} read, {len(log.rows):,} of them looked at"
    if log.rejected:
        found["rejected"] = f"{log.rejected:,} rows that cannot be used"
    if proposed.estimate is not None:
        low, high = proposed.estimate.likely
        found["nodes"] = f"{proposed.estimate}" + (f": {low:,} to {high:,}" if proposed.estimate.error else "")
    if live is not None:
        found["live"] = f"{live.rate_s:,.1f} events/s, {len(live.filters):,} subscriptions"
    return found


def summary_of(proposed: Proposed) -> str:
    """The proposal and its predictions as one line of JSON."""
    loads, bounds = proposed.ring.loads, proposed.ring.bounds
    summary: dict[str, Any] = {
        "options": proposed.ring.options(),
        "nodes": proposed.ring.nodes,
        "clusters": [
            {"nodes": load.nodes, "subscriptions": load.store, "memory_bytes": load.memory_bytes, "busy": load.busy,
             "wait_ms": load.wait_ms}
            for load in loads.clusters
        ],
        "subscriptions": bounds.subscriptions,
        "rate_s": bounds.rate_s,
        "scatter_ms": loads.latency_ms(walk=False),
        "walk_ms": loads.latency_ms(walk=True),
        "slowest_zone_ms": loads.worst_ms(walk=False),
        "throughput_s": loads.throughput_s,
        "visits": loads.copies,
        "match_ms": dict(zip(map(str, proposed.costs.match.sizes), proposed.costs.match.times_ms, strict=True)),
        "rejected": proposed.log.rejected,
    }  # fmt: skip
    if proposed.estimate is not None:
        summary["nodes_estimated"] = {"nodes": proposed.estimate.nodes, "error": proposed.estimate.error}
    return json.dumps(summary)


def configuration_of(proposed: Proposed, kept: Mapping[str, object]) -> str:
    """The file for `siftcast network apply`: the predictions as comments, and the [overlay] table.

    `kept` are options of the network that a plan does not decide. They stand here too, because options that a new
    configuration leaves out are as by default from then on.
    """
    lines = [f"# {name}: {value}" for name, value in proposed.ring.facts().items()]
    lines += ["", "[overlay]", 'scheme = "rendezvous"', "", "[overlay.options]"]
    lines += [f"{name} = {_toml(value)}" for name, value in {**kept, **proposed.ring.options()}.items()]
    return "\n".join(lines) + "\n"


def kept_options(path: Path) -> dict[str, object]:
    """What the configuration of a node says about its ring, but for what a plan decides; raises DataError."""
    try:
        overlay = tomllib.loads(path.read_text(encoding="utf-8")).get("overlay", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: is not TOML: {error}") from None
    if overlay.get("scheme", "rendezvous") != "rendezvous":
        raise DataError(f"{path}: its nodes run '{overlay['scheme']}'; a ring is planned for 'rendezvous'")
    found = {name: value for name, value in overlay.get("options", {}).items() if name not in PLANNED}
    scheme("rendezvous").configure(found)  # what it does not know is refused here and not by the network
    return found


def _toml(value: object) -> str:
    """A value as TOML writes it; a list in a text without a second layer of escapes, where that can be."""
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
