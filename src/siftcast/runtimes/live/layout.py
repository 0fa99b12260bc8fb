"""From a configuration to a part in an overlay: numbers for names, a tree or plan, and whom to connect to.

Nodes are numbered in the order of their names, and all nodes lay out the same network from the same list, in whatever
order each of them writes it; a digest of it is exchanged when two of them meet. Where nobody has measured anything,
nodes of one region are taken to be near, and all parts of the content to be wanted alike. What is kept on disk names
nodes and the digest (`Roster`), so that a network that was laid out otherwise is noticed.

A node that keeps things on disk runs its scheme inside `Durable`. All nodes of a network do, or none: what durable
nodes say to each other means nothing to the others, so it is part of the digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from siftcast.model import Schema
from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.durability import Durable, NotDurableError, Roster, Settings
from siftcast.overlays.schemes import Layout, Scheme, scheme
from siftcast.overlays.tables import TableFactory
from siftcast.runtimes.live.configuration import ConfigurationFile, MemberSpec, OverlaySpec
from siftcast.space import SourceTrees, Tree

if TYPE_CHECKING:
    from siftcast.space import KyraLayout

_NEAR_MS, _FAR_MS = 1.0, 1_000.0
_ON_ANY_TREE = ("unicast", "match-on-ring")
_ON_SOCKETS = ("filter-based", "kyra", "match-early", "broadcast", *_ON_ANY_TREE)
"""The others need the network's own multicast, or are planned from measured traffic (`clustered`)."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A node's part in a network."""

    names: tuple[str, ...]
    number: NodeId
    addresses: tuple[str, ...]
    scheme: str
    protocol: Protocol
    contacts: tuple[NodeId, ...]
    digest: str


def lay_out(file: ConfigurationFile, tables: TableFactory, *, durable: bool = False) -> Overlay:
    """A node's part in the network its configuration names, or in one of its own."""
    spec, node = file.configuration.overlay, file.configuration.node
    listed = spec.nodes or [MemberSpec(name=node.name, address=node.listen)]
    members = sorted(listed, key=lambda member: member.name)
    names = tuple(member.name for member in members)
    number = names.index(node.name)
    chosen, options = _configured(file)
    tree = _tree(file, members)
    graph = _graph(tree, members, getattr(options, "graph", 0))
    plan = _plan_kyra(file, members, options) if chosen.plan == "kyra" else None
    layout = Layout(tree, tables, graph, plan)
    digest = _digest(spec, members, durable)
    try:
        protocol = chosen.make(layout, options)(number)
        if durable:
            settings = Settings(kept_bytes_max=file.configuration.limits.kept_bytes_max)
            protocol = Durable(number, protocol, settings, Roster(names, digest))
    except NotDurableError as error:
        raise file.error("overlay.scheme", str(error), "choose another, or leave out data in [node]") from None
    except (SiftcastError, ValueError) as error:
        raise file.error("overlay.options", str(error)) from None
    addresses = tuple(member.address for member in members)
    contacts = _contacts(chosen, layout, number)
    return Overlay(names, number, addresses, chosen.name, protocol, contacts, digest)


def _configured(file: ConfigurationFile) -> tuple[Scheme, Any]:
    spec = file.configuration.overlay
    try:
        chosen = scheme(spec.scheme)
    except SiftcastError as error:
        raise file.error("overlay.scheme", str(error)) from None
    if chosen.name not in _ON_SOCKETS:
        remedy = f"those that run on sockets are {', '.join(_ON_SOCKETS)}"
        raise file.error("overlay.scheme", f"'{chosen.name}' runs in the simulator only", remedy)
    try:
        return chosen, chosen.configure(spec.options)
    except SiftcastError as error:
        raise file.error("overlay.options", str(error)) from None


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


def _tree(file: ConfigurationFile, members: Sequence[MemberSpec]) -> Tree:
    links = file.configuration.overlay.links
    if len(members) == 1:
        return Tree((0,), ())
    if not links:
        from siftcast.planning.spanning_trees import minimum_spanning_tree

        return minimum_spanning_tree(_latencies_ms(members))
    places = {member.name: place for place, member in enumerate(members)}
    try:
        return Tree(range(len(members)), [(places[a], places[b]) for a, b in links])
    except (SiftcastError, ValueError) as error:
        remedy = f"{len(members) - 1} links that join all {len(members)} nodes, or leave them out"
        raise file.error("overlay.links", str(error), remedy) from None


def _graph(tree: Tree, members: Sequence[MemberSpec], links: int) -> SourceTrees | None:
    """The tree with `links` further links of each node, to the next ones in the list."""
    if not links:
        return None
    latencies = _latencies_ms(members)
    lengths = {edge: latencies[edge[0]][edge[1]] for edge in tree.edges}
    for node in tree.nodes:
        others = sorted((other for other in tree.nodes if other != node), key=lambda other: latencies[node][other])
        fresh = [edge for other in others if (edge := (min(node, other), max(node, other))) not in lengths]
        lengths.update({edge: latencies[edge[0]][edge[1]] for edge in fresh[:links]})
    return SourceTrees.shortest(lengths, nodes=tree.nodes)


def _plan_kyra(file: ConfigurationFile, members: Sequence[MemberSpec], options: Any) -> KyraLayout:
    import numpy as np

    from siftcast.planning import axis_edges, cell_loads, plan_kyra
    from siftcast.space import ContentSpace

    spec = file.configuration.overlay
    if spec.schema is None:
        remedy = "name a file as schema in [overlay], with a domain for the attribute to cut"
        raise file.error("overlay.scheme", "kyra divides the content and must know its schema", remedy)
    try:
        space = ContentSpace(Schema.load(file.beside(spec.schema)))
    except (SiftcastError, OSError) as error:
        raise file.error("overlay.schema", str(error), "docs/filter-language.md shows a schema") from None
    names = [axis.attribute.name for axis in space.axes]
    wanted = options.attribute or (names[0] if names else "")
    if wanted not in names:
        known = f"those with a domain are {', '.join(names)}" if names else "no attribute of the schema has a domain"
        raise file.error("overlay.schema", f"the content cannot be cut along '{wanted}'", known)
    axis = names.index(wanted)
    line = space.axes[axis]
    edges = axis_edges(line, np.linspace(line.low, line.high, 257).tolist())
    widths = np.diff(edges)
    ones = np.ones(len(widths))
    try:
        return plan_kyra(
            _latencies_ms(members),
            space,
            edges,
            cell_loads(popularity=ones * 0.5, volume=widths / widths.sum(), weight=ones),
            clique_ms_max=options.clique_ms_max,
            clique_servers_max=options.clique_servers_max or None,
            trees=options.trees or None,
            balance_factor=options.balance_factor,
            join_singletons=options.join_singletons,
            axis=axis,
        )
    except ValueError as error:
        raise file.error("overlay.options", str(error)) from None


def _contacts(chosen: Scheme, layout: Layout, number: NodeId) -> tuple[NodeId, ...]:
    """Whom a node may have to send something."""
    if chosen.name in _ON_ANY_TREE:
        return tuple(other for other in layout.tree.nodes if other != number)
    if chosen.plan == "kyra":
        plan: KyraLayout = layout.plan
        near = set(plan.clique_of(number).members)
        for tree in (*plan.trees.values(), plan.outside_tree):
            near.update(tree.neighbours.get(number, ()))
        return tuple(sorted(near - {number}))
    return tuple(sorted(layout.links(number).neighbours))


def _digest(spec: OverlaySpec, members: Sequence[MemberSpec], durable: bool) -> str:
    """What two nodes of one network agree on; addresses may differ, as seen from different places."""
    listed = [(each.name, each.region) for each in members]
    links = sorted(sorted(pair) for pair in spec.links)
    shape = [spec.scheme, sorted(spec.options.items()), links, listed, durable]
    return blake2b(msgspec.msgpack.encode(shape), digest_size=16).hexdigest()
