"""What a person wants changed about a running network, from a configuration: the options of its scheme, and its links.

Members come and go by themselves (`siftcast serve --join`, `leave`, `forget`). A configuration with a list of nodes is
one of a node: its list must name those there are, and what it leaves out is as if the network began with it. One
without a list says only what is to change: what its [overlay] leaves out stays as it is. Whatever does not fit is
refused in words before any node hears of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.overlays.epochs.view import ABSENT, PRESENT, Epoch, Member
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.node.configuration import OverlaySpec, parse_configuration
from siftcast.runtimes.live.node.layout import Overlay
from siftcast.runtimes.live.node.planning import NAMED, PlanSettings, Reckoning, remarks_on_ground, survey_of
from siftcast.schemes import SchemeError, scheme


class Wanted(NamedTuple):
    """The settings that were asked for, and what in them will not come out as it says."""

    settings: bytes
    remarks: tuple[str, ...]


def wanted_settings(text: str, overlay: Overlay, members: Sequence[Mapping[str, Any]], before: PlanSettings) -> Wanted:
    """The settings that a configuration asks for; raises Refused, or ConfigurationError for a mistake in it.

    `before` are those of the newest plan. What was measured stays part of them.
    """
    spec = parse_configuration(text, "the new configuration", for_running=True).configuration.overlay
    given = _given(text, spec)
    terms, chosen = overlay.terms, scheme(overlay.scheme)
    if "network" in given and spec.network != terms.network:
        raise Refused(f"this is network '{terms.network}', and the configuration is for '{spec.network}'")
    if "scheme" in given and spec.scheme != terms.scheme:
        raise Refused(f"the network runs '{terms.scheme}', and the scheme of a running network cannot be changed")
    if not {"links", "options", "ground", "ground_ms"}.intersection(given):
        raise Refused(
            "the configuration says nothing that is to change; write links, options or ground in its [overlay]"
        )
    _check_members(spec, members)
    there = {row["name"]: row["identity"] for row in members if row["state"] in (PRESENT, ABSENT)}
    settings = PlanSettings(
        dict(spec.options) if "options" in given else before.options,
        [(there[a], there[b]) for a, b in spec.links] if "links" in given else before.links,
        before.measured,
        spec.ground if "ground" in given else before.ground,
        spec.ground_ms if "ground_ms" in given else before.ground_ms,
        None if before.reckoning is None else Reckoning(before.reckoning.at_s),
    )
    placed = _placed(members)
    nodes = tuple(member.node for member in placed)
    try:
        schema = None if terms.schema is None else Schema.parse(terms.schema)
        wanted = chosen.configure(settings.options)
        if problem := chosen.objection(wanted, sockets=True, durable=terms.durable):
            raise SchemeError(problem)
        ground, options = survey_of(chosen, schema)(Epoch.of(0, placed, settings=settings.encode()))
        laid_out = chosen.plan(ground, options)
        remarks = (
            *chosen.remarks(ground, options, laid_out),
            *remarks_on_ground(chosen, settings.ground != NAMED, ground, laid_out),
        )
        plan = chosen.assign(laid_out, nodes)
        chosen.nodes(plan, options, matcher_tables("brute_force"))(nodes[0])  # some options are checked by the nodes
    except (SiftcastError, ValueError, OverflowError, MemoryError) as error:
        raise Refused(f"the network cannot be planned so: {error}") from None
    return Wanted(settings.encode(), remarks)


def _placed(members: Sequence[Mapping[str, Any]]) -> list[Member]:
    """Those who have a place in the plan, as far as one node knows."""
    found = [
        Member.of(row["identity"], row["name"], row.get("region", ""), row.get("roles", ()))
        for row in members
        if row["state"] in (PRESENT, ABSENT)
    ]
    return [member for member in found if not member.edge]


def _given(text: str, spec: OverlaySpec) -> Collection[str]:
    """The keys of [overlay] that are to count: all of them, if the configuration has a list of nodes."""
    return spec.__struct_fields__ if spec.nodes else tomllib.loads(text).get("overlay", {}).keys()


def _check_members(spec: OverlaySpec, members: Sequence[Mapping[str, Any]]) -> None:
    """Raises Refused unless the list, if there is one, names the members."""
    there = {row["name"] for row in members if row["state"] in (PRESENT, ABSENT)}
    listed = {each.name for each in spec.nodes}
    if listed and (more := sorted(listed - there)):
        raise Refused(f"there is no node {', '.join(more)} in the network; start it with siftcast serve --join first")
    if listed and (fewer := sorted(there - listed)):
        remedy = "add it, or leave out [[overlay.nodes]]; a node that is to go leaves by siftcast leave --at …"
        raise Refused(f"the list leaves out {', '.join(fewer)}; {remedy}")
    if unknown := sorted({name for pair in spec.links for name in pair} - there):
        nodes = f"its nodes are {', '.join(sorted(there))}"
        raise Refused(f"links name {', '.join(unknown)}, which the network does not have; {nodes}")
