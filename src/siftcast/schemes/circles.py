"""Circles of the rendezvous ring, laid out on the nodes of a plan: clusters, zones and where each zone begins.

    matchers ─▶ cut by rank into X clusters (weights of nodes, shares of clusters)
    key, cuts ─▶ an axis with its zones, or none: then everything spans
    zone z   ─▶ begins ⌊H/2⌋ clusters before z·X/Z, as the walk of the layering paper does

Zones come from cuts that are given; else from what was counted along the key while the network ran, from a forecast,
or from the domain that the schema gives. A key that is hashed needs none of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import msgspec

from siftcast.model.values import Kind
from siftcast.schemes.contract import SchemeError
from siftcast.schemes.ground import Ground
from siftcast.space import Circle, HashAxis, ShardAxis, ShardPlan, cut_by_rank
from siftcast.space.shard_axes import CutValue

AUTO, RANGE, HASH, NO_RENDEZVOUS = RENDEZVOUS = ("auto", "range", "hash", "none")
Axis = ShardAxis | HashAxis
COUNT_MAX, ZONES_MAX = 65_536, 4_096
"""Of clusters, replicas and parts; of zones, of which every node has a table, made while it does nothing else."""
_CUT_KINDS = frozenset({Kind.NUMBER, Kind.STRING})


@dataclass(frozen=True, slots=True)
class CircleOptions:
    """X clusters (0: as many as R allows), R replicas, H parts of a zone and of the span; see the scheme."""

    clusters: int = 0
    replicas: int = 2
    parts: int = 1
    span_parts: int = 0
    zones: int = 0
    key: str = ""
    rendezvous: str = AUTO
    cuts: str = ""
    zone_parts: str = ""
    cluster_weights: str = ""
    node_weights: str = ""

    def __post_init__(self) -> None:
        if min(self.clusters, self.span_parts, self.zones) < 0 or min(self.replicas, self.parts) < 1:
            raise ValueError("replicas and parts are at least 1, clusters, span_parts and zones at least 0")
        for name in ("clusters", "replicas", "parts", "span_parts", "zones"):
            most = ZONES_MAX if name == "zones" else COUNT_MAX
            if getattr(self, name) > most:
                raise ValueError(f"{name} is at most {most:,}, not {getattr(self, name):,}")
        if self.rendezvous not in RENDEZVOUS:
            raise ValueError(f"rendezvous is one of {', '.join(RENDEZVOUS)}, not '{self.rendezvous}'")
        if self.rendezvous in (RANGE, HASH) and not self.key:
            raise ValueError(f"rendezvous = '{self.rendezvous}' wants a key, the attribute that decides")
        if len(values_in("cuts", self.cuts)) >= ZONES_MAX:
            raise ValueError(f"cuts make more than {ZONES_MAX:,} zones")
        for name in ("zone_parts", "cluster_weights", "node_weights"):
            numbers_in(name, getattr(self, name))
        for name in ("cluster_weights", "node_weights"):
            weights = numbers_in(name, getattr(self, name))
            if weights and not sum(weights):
                raise ValueError(f"{name} are all 0: nothing can be shared out by them")
        if not all(each >= 1 and each.is_integer() for each in numbers_in("zone_parts", self.zone_parts)):
            raise ValueError("zone_parts is a list of whole numbers, none below 1")
        if self.cuts and self.rendezvous == HASH:
            raise ValueError("cuts divide a range; a key that is hashed has none")


def lay_out(ground: Ground, options: CircleOptions, matchers: Sequence[int], name: str = "") -> Circle:
    """A circle of these places; X is at most as many as there are, because members come and go."""
    chosen = options.clusters or max(1, len(matchers) // options.replicas)
    count = min(chosen, len(matchers))
    weights = numbers_in("node_weights", options.node_weights)
    if weights and len(weights) != len(matchers):
        raise SchemeError(f"node_weights has {len(weights)} numbers for {len(matchers)} matchers")
    heavy = dict(zip(matchers, weights, strict=False))
    shares = numbers_in("cluster_weights", options.cluster_weights)
    if shares and len(shares) != chosen:
        raise SchemeError(f"cluster_weights has {len(shares)} numbers for {chosen} clusters")
    shares = shares if count == chosen else []
    clusters = cut_by_rank(matchers, count, lambda place: heavy.get(place, 1.0), shares)
    axis = _axis(ground, options, options.zones or chosen)
    zones = 0 if axis is None else len(axis)
    parts = [int(number) for number in numbers_in("zone_parts", options.zone_parts)] or [options.parts] * zones
    if len(parts) != zones:
        raise SchemeError(f"zone_parts has {len(parts)} numbers for {zones} zones")
    dealt = tuple(min(count, each) for each in (*parts, options.span_parts or options.parts))
    starts = tuple((zone * count // max(1, zones) - dealt[zone] // 2) % count for zone in range(zones))
    even = tuple(1 / max(1, zones) for _ in range(zones))
    shards = ShardPlan(
        () if axis is None else (axis,), sum(dealt), (0,) * (zones + 1), (*even, 1.0), dealt=dealt,
        replicas=(max(map(len, clusters)),) * (zones + 1),
    )  # fmt: skip
    return Circle(shards, clusters, (*starts, 0), name)


def _axis(ground: Ground, options: CircleOptions, zones: int) -> Axis | None:
    """The axis along which content has zones; None if everything spans."""
    if options.rendezvous == NO_RENDEZVOUS:
        return None
    if options.rendezvous == HASH:
        return HashAxis(options.key, _kind(ground, options.key), zones)
    if options.cuts:
        if not options.key:
            raise SchemeError("cuts want a key, the attribute that they cut")
        return _given_axis(ground, options)
    if options.key and not is_known(ground, options.key):
        known = ", ".join(each.name for each in ground.schema or ())
        remedy = "name one of these, give cuts, or hash it"
        raise SchemeError(f"key = '{options.key}' is not in the schema, which has {known}; {remedy}")
    key = options.key or _first_key(ground)
    if not key:
        return None
    cuts = _planned_cuts(ground, key, zones)
    if cuts is None and options.rendezvous == RANGE:
        raise SchemeError(f"nothing says where to cut '{key}': give it a domain in the schema, or give cuts")
    return None if cuts is None else ShardAxis(key, _kind(ground, key), cuts)


def _given_axis(ground: Ground, options: CircleOptions) -> ShardAxis:
    values = values_in("cuts", options.cuts)
    kinds = {Kind.STRING if isinstance(value, str) else Kind.NUMBER for value in values}
    if len(kinds) != 1 or any(isinstance(value, bool) for value in values):
        raise SchemeError("cuts are numbers or strings, all of one kind")
    if values != sorted(set(values)):
        raise SchemeError("cuts ascend, and none is there twice")
    (kind,) = kinds
    known = kind if ground.schema is None or options.key not in ground.schema else ground.schema[options.key].kind
    if known is not kind:
        if known not in _CUT_KINDS:
            raise SchemeError(f"cuts divide numbers and strings, and '{options.key}' is a {known.value}")
        raise SchemeError(f"cuts are {kind.value}s, and '{options.key}' is a {known.value} by the schema")
    return ShardAxis(options.key, kind, tuple(values))


def is_known(ground: Ground, key: str) -> bool:
    """Whether an attribute is in the schema; where there is none, nothing is known to be wrong."""
    return ground.schema is None or key in ground.schema


def _first_key(ground: Ground) -> str:
    """The first attribute of the schema that can be cut."""
    if ground.schema is None:
        return ""
    return next((each.name for each in ground.schema if each.domain is not None or each.kind is Kind.BOOLEAN), "")


def _kind(ground: Ground, key: str) -> Kind:
    if ground.schema is not None and key in ground.schema:
        return ground.schema[key].kind
    return Kind.STRING


def _planned_cuts(ground: Ground, key: str, zones: int) -> tuple[CutValue, ...] | None:
    """Values that cut the key into zones of about equal load; None if nothing is known about it."""
    if ground.schema is None or key not in ground.schema:
        return None
    attribute = ground.schema[key]
    if attribute.domain is None and attribute.kind is not Kind.BOOLEAN:
        return None
    from siftcast.planning.zone_partition import split_line
    from siftcast.schemes.content_cells import cut_content

    cells = cut_content(ground, key)
    edges, loads = cells.edges, cells.loads()
    axis = cells.space.axes[cells.axis]
    places = [float(edges[cell]) for cell in split_line(loads, min(zones, len(loads)))]
    if axis.strings:
        return tuple(sorted({axis.strings[min(int(place), len(axis.strings) - 1)] for place in places}))
    whole = attribute.kind in (Kind.TIMESTAMP, Kind.BOOLEAN)
    return tuple(sorted({int(place) if whole or place.is_integer() else place for place in places}))


def values_in(name: str, text: str) -> list[CutValue]:
    """A list in an option; raises ValueError."""
    if not text:
        return []
    try:
        return msgspec.json.decode(text, type=list[int | float | str])
    except msgspec.DecodeError as error:
        raise ValueError(f'{name} is a list in JSON, as in "[1, 2]": {error}') from None


def numbers_in(name: str, text: str) -> list[float]:
    """A list of numbers in an option; raises ValueError."""
    found: list[float] = []
    for value in values_in(name, text):
        if isinstance(value, str) or not 0 <= value < inf:
            raise ValueError(f"{name} is a list of numbers, none below 0 and none infinite")
        found.append(float(value))
    return found
