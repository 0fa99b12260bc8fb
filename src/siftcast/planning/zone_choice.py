"""Which attributes to cut: every axis alone and all of them together, judged by balance and by spans.

A subscription is kept in every zone that it touches, and the largest zone limits the whole. So a candidate costs

    largest load / even share of the load  ×  zones that a subscription touches, on average

and the cheapest is taken. The even share is that of the zones asked for, so an attribute of six values pays for making
only six. Kyra expects one or two attributes to do; accordingly k-d cuts must be a tenth cheaper than the best single
axis, because a single axis is easier to describe and asks less of an event. Spans are counted on a sample of the
subscriptions, with the zones that would really be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from siftcast.model import Filter, Schema, SchemaError
from siftcast.planning.cell_table import CellTable
from siftcast.planning.space_partition import partition_space
from siftcast.planning.zone_partition import ALPHA, Quality, partition_line, quality
from siftcast.space import ContentSpace, Cuts, Partition

_WORTH_SEVERAL = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to cut the space, and how good it is."""

    attributes: tuple[str, ...]
    partition: Partition
    quality: Quality
    asked: int

    @property
    def excess(self) -> float:
        """The largest load over an even share among the zones asked for."""
        return self.quality.imbalance * self.asked / self.quality.zones

    @property
    def cost(self) -> float:
        return self.excess * (self.quality.spans_mean or 1.0)


def candidates(table: CellTable, zones: int, *, alpha: float = ALPHA, sample: Sequence[Filter] = ()) -> list[Candidate]:
    """Every axis alone, then the k-d cuts through all of them if there are several."""
    schema = table.cells.space.schema
    found = []
    for axis in table.axes:
        space = subspace(schema, (axis.attribute,))
        partition = partition_line(space, axis.edges, axis.loads(alpha), zones)
        found.append(Candidate((axis.attribute,), partition, _judge(partition, sample), zones))
    if table.joint is not None:
        crossings = [(axis.edges[:-1], axis.crossing) for axis in table.axes] if table.subscriptions else []
        joint = table.joint
        whole = partition_space(
            table.cells.space, joint.lows, joint.highs, joint.loads(alpha), zones, crossings=crossings
        )
        partition = _restricted(whole)
        names = tuple(axis.attribute.name for axis in partition.space.axes)
        if len(names) > 1:
            found.append(Candidate(names, partition, _judge(partition, sample), zones))
    return found


def choose_zones(table: CellTable, zones: int, *, alpha: float = ALPHA, sample: Sequence[Filter] = ()) -> Partition:
    """The best partition of a space of counted cells, with its reason."""
    found = candidates(table, zones, alpha=alpha, sample=sample)
    single = min((each for each in found if len(each.attributes) == 1), key=lambda each: each.cost)
    several = [each for each in found if len(each.attributes) > 1 and each.cost < _WORTH_SEVERAL * single.cost]
    chosen = several[0] if several else single
    reason = _reason(chosen, found, zones, alpha, table)
    partition = chosen.partition
    return Partition(partition.space, partition.cuts, loads=partition.loads, reason=reason)


def subspace(schema: Schema, attributes: Sequence[str]) -> ContentSpace:
    """The space of some attributes only, so that an event needs no others to have a zone."""
    if not attributes:
        raise SchemaError("name at least one attribute to cut")
    return ContentSpace(Schema([schema[name] for name in attributes], schema.name))


def _restricted(partition: Partition) -> Partition:
    """The same zones in the space of the axes that are cut."""
    used = sorted(_axes(partition.cuts)) or [0]
    names = [partition.space.axes[axis].attribute.name for axis in used]
    cuts = _renumbered(partition.cuts, {axis: index for index, axis in enumerate(used)})
    return Partition(subspace(partition.space.schema, names), cuts, loads=partition.loads)


def _axes(cuts: Cuts | None) -> set[int]:
    return set() if cuts is None else {cuts.axis}.union(*map(_axes, cuts.parts))


def _renumbered(cuts: Cuts | None, numbers: dict[int, int]) -> Cuts | None:
    if cuts is None:
        return None
    return replace(cuts, axis=numbers[cuts.axis], parts=tuple(_renumbered(part, numbers) for part in cuts.parts))


def _judge(partition: Partition, sample: Sequence[Filter]) -> Quality:
    # A subscription that can match nothing in the space still has to be kept somewhere.
    spans = [max(1, len(partition.zones_of(filter_))) for filter_ in sample]
    return quality(partition.loads, spans)


def _reason(chosen: Candidate, found: Sequence[Candidate], asked: int, alpha: float, table: CellTable) -> str:
    figures = chosen.quality
    count = f"{figures.zones} zones" + (
        f" (asked for {asked}: there are no more places to cut)" * (figures.zones < asked)
    )
    lines = [
        f"{count} along {' and '.join(chosen.attributes)}: "
        f"the largest load is {figures.imbalance:.3f} times the mean" + _spans(figures) + ".",
        f"Load is popularity^{alpha:g} · volume · weight, from {table.subscriptions:,} subscriptions.",
    ]
    if len(found) > 1:
        lines.append(
            "Cost is (largest load / even share) × (zones a subscription touches); k-d cuts must be a tenth cheaper."
        )
        width = max(len(", ".join(each.attributes)) for each in found)
        for each in found:
            mark = "→" if each is chosen else " "
            spans = each.quality.spans_mean
            touched = f"{spans:8.2f}" if spans is not None else "       ?"
            names = ", ".join(each.attributes)
            lines.append(f" {mark} {names:<{width}}  {each.excess:7.3f} × {touched} = {each.cost:8.2f}")
    return "\n".join(lines)


def _spans(figures: Quality) -> str:
    if figures.spans_mean is None:
        return ""
    return f", and a subscription touches {figures.spans_mean:.2f} zones on average, {figures.spans_max} at most"
