"""What a running network says for a plan: its nodes, how far they are from each other, and what passes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from siftcast.interfaces.cli.caller import call_node
from siftcast.model import DataError, Filter, Schema, SiftcastError
from siftcast.model.values import Kind
from siftcast.planning.ring_density import NodeEstimate, estimate_nodes
from siftcast.planning.shard_choice import AxisName
from siftcast.space.shard_axes import CutValue

_OUT = frozenset({"left", "gone", "departed"})
_VALUES = 2_000


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What the nodes have measured, and what is subscribed to at them."""

    nodes: NodeEstimate
    rate_s: float
    hop_ms: float | None
    filters: Sequence[Filter]
    values: dict[AxisName, list[CutValue | None]]
    silent: tuple[str, ...]


def ask_network(
    url: str, schema: Schema | None, near: int | None, *, token: str | None, authorities: Path | None
) -> LiveFacts:
    """Asks all nodes for what they have measured and each for its subscriptions."""
    from siftcast.runtimes.live.node.node import run

    async def ask() -> LiveFacts:
        async with call_node(url, "siftcast plan ring", token=token, authorities=authorities) as bus:
            described = await bus.describe()
            load = await bus._inquire("load", b"")
        texts = [row["filter"] for row in described["subscriptions"]]
        silent = set(load["silent"])
        for row in members_in(described["members"]):
            if row["identity"] == described["identity"] or not row.get("address") or row["name"] in silent:
                continue
            try:
                async with call_node(
                    _url(url, row["address"]), "siftcast plan ring", token=token, authorities=authorities
                ) as other:
                    texts += [each["filter"] for each in (await other.describe())["subscriptions"]]
            except SiftcastError:
                silent.add(str(row["name"]))
        answers = load["answers"]
        delays = [delay for answer in answers for _, delay in answer["delays_ms"]]
        return LiveFacts(
            nodes_in(described["members"], described["identity"], near),
            sum(answer["events_s"] for answer in answers),
            median(delays) if delays else None,
            [Filter.parse(text) for text in texts],
            values_counted(answers, schema),
            tuple(sorted(silent)),
        )

    found: LiveFacts = run(ask())
    return found


def _url(given: str, address: str) -> str:
    """The address of another node, called in the way in which the first one is."""
    return address if "://" in address else f"{given.split('://', 1)[0]}://{address}"


def members_in(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The members that can be given a part: no edges, and only matchers where there are any."""
    here = [row for row in rows if row.get("state") not in _OUT and "edge" not in row.get("roles", ())]
    return [row for row in here if "matcher" in row.get("roles", ())] or here


def nodes_in(rows: Sequence[Mapping[str, Any]], own: int | None, near: int | None) -> NodeEstimate:
    """How many nodes there are, counted, or estimated from the identities that follow that of one of them."""
    members = members_in(rows)
    if near is None:
        return NodeEstimate(float(len(members)), 0.0)
    if own is None:
        own = next((row["identity"] for row in rows if row.get("reach", row.get("state")) == "this node"), None)
    if own is None:
        raise DataError("none of these members is the node that was asked, so none has successors to count by")
    return estimate_nodes(own, (row["identity"] for row in members), near=near)


def read_members(path: Path, near: int | None) -> NodeEstimate:
    """How many nodes a file says there are, written by `siftcast members --json`."""
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
        if not all(isinstance(row.get("identity"), int) for row in rows):
            raise DataError(f"{path}: every member needs an identity")
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: is not what siftcast members --json prints: {error}") from None
    if not rows:
        raise DataError(f"{path}: there are no members in it")
    return nodes_in(rows, None, near)


def values_counted(
    answers: Sequence[Mapping[str, Any]], schema: Schema | None
) -> dict[AxisName, list[CutValue | None]]:
    """Values as frequent as the nodes have counted them, one for each cell of an attribute."""
    if schema is None:
        return {}
    from siftcast.runtimes.live.node.load_meter import added, cell_edges
    from siftcast.space import ContentSpace

    counted = added([answer["events"] for answer in answers])
    found: dict[AxisName, list[CutValue | None]] = {}
    for axis in ContentSpace(schema).axes:
        counts, edges = counted.get(axis.attribute.name), cell_edges(axis)
        if counts is None or len(counts) + 1 != len(edges) or not counts.sum():
            continue
        if axis.attribute.kind not in (Kind.NUMBER, Kind.STRING):
            continue
        times = (counts / counts.sum() * _VALUES).round().astype(int)
        found[axis.attribute.name, axis.attribute.kind] = [
            axis.strings[min(int(edge), len(axis.strings) - 1)] if axis.strings else float(edge)
            for edge, count in zip(edges[:-1], times, strict=True)
            for _ in range(count)
        ]
    return found
