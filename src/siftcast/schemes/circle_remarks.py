"""What a person who laid a ring out should hear: knobs that came out otherwise than they say, or do nothing.

They are no mistakes that could be refused. The paper cuts H to X; a network begins with one node and grows, so R, X
and H cannot all be met at every time; and a plan may cut where the schema expects nothing. But whoever set the knob
counts on it, so it is said: by `siftcast network apply` and `up`, in the log of a node, beside the verdict of a
scenario.
"""

from __future__ import annotations

from collections.abc import Iterator

from siftcast.schemes.circles import NO_RENDEZVOUS, CircleOptions, is_known, numbers_in, values_in
from siftcast.schemes.ground import Ground
from siftcast.space import Circle

_DEFAULTS = CircleOptions()


def remarks_on(ground: Ground, options: CircleOptions, circle: Circle) -> Iterator[str]:
    """A sentence for each knob of a circle that is not what it says."""
    yield from _of_clusters(options, circle)
    yield from _of_parts(options, circle)
    yield from _of_zones(ground, options, circle)


def _of_clusters(options: CircleOptions, circle: Circle) -> Iterator[str]:
    sizes = [len(cluster) for cluster in circle.clusters]
    if options.clusters > len(sizes):
        yield f"clusters = {options.clusters:,}, but there are no more than {_counted(sum(sizes), 'matcher')}"
    was_chosen = options.clusters or options.replicas != _DEFAULTS.replicas
    if was_chosen and min(sizes) < options.replicas:
        yield (
            f"replicas = {options.replicas:,}, but of {_counted(sum(sizes), 'matcher')} in "
            f"{_counted(len(sizes), 'cluster')} the smallest cluster has {min(sizes):,}, and no more replicas"
        )


def _of_parts(options: CircleOptions, circle: Circle) -> Iterator[str]:
    most = len(circle.clusters)
    wanted: dict[str, float] = {"parts": options.parts, "span_parts": options.span_parts}
    wanted["zone_parts"] = max(numbers_in("zone_parts", options.zone_parts), default=0)
    for name, number in wanted.items():
        if number > most:
            there = "there is" if most == 1 else "there are"
            yield f"{name} = {number:,.0f}, but {there} {_counted(most, 'cluster')}, so a zone has at most {most:,}"


def _of_zones(ground: Ground, options: CircleOptions, circle: Circle) -> Iterator[str]:
    axes = circle.shards.axes
    if options.rendezvous == NO_RENDEZVOUS:
        given = [name for name in ("key", "cuts", "zones") if getattr(options, name)]
        if given:
            yield f"{' and '.join(given)} of no effect: with rendezvous = '{NO_RENDEZVOUS}' everything spans"
    elif options.key and not axes:
        yield f"key = '{options.key}' of no effect: no schema says in what domain it lies, so everything spans"
    elif axes and options.zones and options.zones != len(axes[0]):
        yield f"zones = {options.zones:,}, but {axes[0].attribute} has {_counted(len(axes[0]), 'zone')}"
    elif options.key and not is_known(ground, options.key):
        yield f"key = '{options.key}' is not in the schema: events that do not have it visit those that span only"
    if options.cuts and axes and ground.schema is not None and axes[0].attribute in ground.schema:
        domain = ground.schema[axes[0].attribute].domain
        values = values_in("cuts", options.cuts)
        if domain is None or isinstance(domain[0], str) or any(isinstance(value, str) for value in values):
            return
        outside = [f"{value:,}" for value in values if not domain[0] <= value <= domain[1]]  # type: ignore[operator]
        if outside:
            shown = ", ".join(outside[:3]) + (", …" if len(outside) > 3 else "")
            yield f"cuts at {shown} lie outside the domain of {axes[0].attribute}, {domain[0]:,} to {domain[1]:,}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
