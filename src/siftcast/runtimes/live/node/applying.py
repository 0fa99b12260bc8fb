"""What a person wants changed about a running network, from a configuration: the options of its scheme, and its links.

Members come and go by themselves (`siftcast serve --join`, `leave`, `forget`); a list in the configuration must name
those there are. Whatever does not fit is refused in words before any node hears of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.overlays.epochs.view import ABSENT, PRESENT, Epoch
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.node.configuration import OverlaySpec, parse_configuration
from siftcast.runtimes.live.node.layout import Overlay
from siftcast.runtimes.live.node.planning import PlanSettings, survey_of
from siftcast.schemes import scheme


def wanted_settings(text: str, overlay: Overlay, members: Sequence[Mapping[str, Any]], current: PlanSettings) -> bytes:
    """The settings that a configuration asks for; raises Refused, or ConfigurationError for a mistake in it.

    What was measured stays part of them.
    """
    spec = parse_configuration(text, "the new configuration").configuration.overlay
    terms, chosen = overlay.terms, scheme(overlay.scheme)
    if spec.network != terms.network:
        raise Refused(f"this is network '{terms.network}', and the configuration is for '{spec.network}'")
    if spec.scheme != terms.scheme:
        raise Refused(f"the network runs '{terms.scheme}', and the scheme of a running network cannot be changed")
    _check_members(spec, members)
    there = {row["name"]: row["identity"] for row in members if row["state"] in (PRESENT, ABSENT)}
    links = [(there[a], there[b]) for a, b in spec.links]
    settings = PlanSettings(dict(spec.options), links, current.measured)
    nodes = tuple(there.values())
    try:
        schema = None if terms.schema is None else Schema.parse(terms.schema)
        ground, options = survey_of(chosen, schema)(Epoch(0, nodes, ("",) * len(nodes), (), settings.encode()))
        plan = chosen.assign(chosen.plan(ground, options), nodes)
        chosen.nodes(plan, options, matcher_tables("brute_force"))(nodes[0])  # some options are checked by the nodes
    except (SiftcastError, ValueError, OverflowError, MemoryError) as error:
        raise Refused(f"the network cannot be planned so: {error}") from None
    return settings.encode()


def _check_members(spec: OverlaySpec, members: Sequence[Mapping[str, Any]]) -> None:
    """Raises Refused unless the list, if there is one, names the members."""
    there = {row["name"] for row in members if row["state"] in (PRESENT, ABSENT)}
    listed = {each.name for each in spec.nodes}
    if listed and (more := sorted(listed - there)):
        raise Refused(f"there is no node {', '.join(more)} in the network; start it with siftcast serve --join first")
    if listed and (fewer := sorted(there - listed)):
        raise Refused(f"the list leaves out {', '.join(fewer)}; have it leave first: siftcast leave --at …")
    if unknown := sorted({name for pair in spec.links for name in pair} - there):
        raise Refused(f"links name {', '.join(unknown)}, which the network does not have")
