"""From a configuration to a part in an overlay: identities for names, a tree or plan, and whom to connect to.

All nodes lay out the same network from the same list, in whatever order each of them writes it: places in the plan are
those in the order of the names, and identities (`identity`) then take their stead. A digest of the list is exchanged
when two nodes meet. Where nobody has measured anything, nodes of one region are taken to be near, and all parts of the
content to be wanted alike. What is kept on disk names the network and the digest (`Roster`), so that a network that
was laid out otherwise is noticed.

A node that keeps things on disk runs its scheme inside `Durable`. All nodes of a network do, or none: what durable
nodes say to each other means nothing to the others, so it is part of the digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.model.toml_files import named_option
from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.durability import Durable, NotDurableError, Roster, Settings
from siftcast.overlays.tables import TableFactory
from siftcast.runtimes.live.node.configuration import ConfigurationFile, MemberSpec, OverlaySpec
from siftcast.runtimes.live.node.identity import identity_of, listed_identity
from siftcast.schemes import Ground, Scheme, scheme, schemes
from siftcast.space import Tree

_NEAR_MS, _FAR_MS = 1.0, 1_000.0
_PLAN_SEED = 0  # all nodes must find the same plan


@dataclass(frozen=True, slots=True)
class Overlay:
    """A node's part in a network."""

    node: NodeId
    names: Mapping[NodeId, str]
    addresses: Mapping[NodeId, str]
    scheme: str
    protocol: Protocol
    contacts: tuple[NodeId, ...]
    digest: str


def lay_out(
    file: ConfigurationFile, tables: TableFactory, identity: NodeId | None = None, *, durable: bool = False
) -> Overlay:
    """A node's part in the network its configuration names, or in one of its own."""
    spec, members = file.configuration.overlay, _members(file)
    own = identity_of(file) if identity is None else identity
    nodes = _identities(file, members, own)
    names = {node: member.name for node, member in zip(nodes, members, strict=True)}
    chosen, options = _configured(file)
    ground = Ground(
        np.array(_latencies_ms(members)),
        np.random.default_rng(_PLAN_SEED),
        schema=_schema(file, chosen),
        tree=_tree(file, members),
    )
    digest = _digest(spec, members, durable)
    try:
        plan = chosen.assign(chosen.plan(ground, options), nodes)
        protocol = chosen.nodes(plan, options, tables)(own)
        if durable:
            settings = Settings(kept_bytes_max=file.configuration.limits.kept_bytes_max)
            protocol = Durable(own, protocol, settings, Roster(names, network=spec.network, layout=digest))
    except NotDurableError as error:
        raise file.error("overlay.scheme", str(error), "choose another, or leave out data in [node]") from None
    except (SiftcastError, ValueError, OverflowError, MemoryError) as error:
        raise file.error(
            named_option("overlay.options", spec.options, str(error)), str(error) or "is too large"
        ) from None
    addresses = {node: member.address for node, member in zip(nodes, members, strict=True)}
    return Overlay(own, names, addresses, chosen.name, protocol, chosen.contacts(plan, own), digest)


def _identities(file: ConfigurationFile, members: Sequence[MemberSpec], own: NodeId) -> list[NodeId]:
    """The identities of all nodes; raises ConfigurationError if two have the same."""
    if not file.configuration.overlay.nodes:
        return [own]
    nodes = [listed_identity(file.configuration.overlay.network, member) for member in members]
    for place, node in enumerate(nodes):
        if nodes.index(node) != place:
            pair = f"'{members[nodes.index(node)].name}' and '{members[place].name}'"
            raise file.error("overlay.nodes", f"{pair} have the same identity {node}", "give each an id of its own")
    return nodes


def _members(file: ConfigurationFile) -> list[MemberSpec]:
    """All nodes of the network, or this one, in the order of their names."""
    node = file.configuration.node
    listed = file.configuration.overlay.nodes or [MemberSpec(name=node.name, address=node.listen)]
    return sorted(listed, key=lambda member: member.name)


def _configured(file: ConfigurationFile) -> tuple[Scheme[Any, Any], Any]:
    spec = file.configuration.overlay
    try:
        chosen = scheme(spec.scheme)
    except SiftcastError as error:
        raise file.error("overlay.scheme", str(error)) from None
    if chosen.simulated_only:
        others = ", ".join(name for name, other in schemes().items() if not other.simulated_only)
        problem = f"'{chosen.name}' runs in the simulator only: {chosen.simulated_only}"
        raise file.error("overlay.scheme", problem, f"those that run on sockets are {others}")
    try:
        return chosen, chosen.configure(spec.options)
    except SiftcastError as error:
        raise file.error(named_option("overlay.options", spec.options, str(error)), str(error)) from None


def _regions(members: Sequence[MemberSpec]) -> list[str]:
    """The region of each node; where none is named, neighbours in the alphabet are near, √n at a time."""
    if any(member.region for member in members):
        return [member.region for member in members]
    size = max(1, round(len(members) ** 0.5))
    return [str(place // size) for place in range(len(members))]


def _latencies_ms(members: Sequence[MemberSpec]) -> list[list[float]]:
    regions = _regions(members)
    return [
        [0.0 if here == there else _NEAR_MS if a == b else _FAR_MS for there, b in enumerate(regions)]
        for here, a in enumerate(regions)
    ]


def _tree(file: ConfigurationFile, members: Sequence[MemberSpec]) -> Tree | None:
    """The links of the configuration as a tree; None where it has none."""
    links = file.configuration.overlay.links
    if not links:
        return None
    places = {member.name: place for place, member in enumerate(members)}
    try:
        return Tree(range(len(members)), [(places[a], places[b]) for a, b in links])
    except (SiftcastError, ValueError) as error:
        remedy = f"{len(members) - 1} links that join all {len(members)} nodes, or leave them out"
        raise file.error("overlay.links", str(error), remedy) from None


def _schema(file: ConfigurationFile, chosen: Scheme[Any, Any]) -> Schema | None:
    """The schema of the content, for a scheme that divides it."""
    path = file.configuration.overlay.schema
    if not chosen.needs_schema:
        return None
    if path is None:
        remedy = "name a file as schema in [overlay], with a domain for the attribute to cut"
        raise file.error("overlay.scheme", f"{chosen.name} divides the content and must know its schema", remedy)
    try:
        return Schema.load(file.beside(path))
    except (SiftcastError, OSError) as error:
        raise file.error("overlay.schema", str(error), "docs/filter-language.md, Schemas, shows one") from None


def _digest(spec: OverlaySpec, members: Sequence[MemberSpec], durable: bool) -> str:
    """What two nodes of one network agree on; addresses may differ, as seen from different places.

    Names count only for the order of places, so a node that is renamed within it is no other layout.
    """
    by_name = {each.name: listed_identity(spec.network, each) for each in members}
    listed = [(by_name[each.name], each.region) for each in members]
    links = sorted(sorted(by_name[name] for name in pair) for pair in spec.links)
    shape = [spec.network, spec.scheme, sorted(spec.options.items()), links, listed, durable]
    return blake2b(msgspec.msgpack.encode(shape), digest_size=16).hexdigest()
