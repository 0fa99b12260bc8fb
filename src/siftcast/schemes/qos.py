"""The scheme `qos`: peers that want events within a time, below parents that want at least what they do.

There is nothing to plan but how the content is divided. Each node begins with a node listed before it. The schema says
which attributes have a domain that can be divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos import Qos, QosSettings
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme, SchemeError
from siftcast.schemes.ground import Ground
from siftcast.space.dz import DzSpace


@dataclass(frozen=True, slots=True)
class QosOptions(QosSettings):
    """What nodes are told, and how the content is divided (`attributes` by commas, all by default)."""

    attributes: str = ""


@dataclass(frozen=True, slots=True)
class Division:
    """In place of a plan: how the content is divided, and through whom each node enters."""

    space: DzSpace
    contacts: Mapping[NodeId, tuple[NodeId, ...]]


class QosScheme(Scheme[QosOptions, Division]):
    """Peers ordered by what they want and how soon."""

    name = "qos"
    description = "peers that name their delay, below parents that want at least what they do"
    protocol = Qos
    options = QosOptions()
    needs_schema = True
    sends_once = False  # while a peer changes its parent, both may pass an event on
    begins_with_contacts = True
    ticks = True
    examples = (
        MappingProxyType({"round_ms": 100.0, "request_ms": 60.0}),
        MappingProxyType({"degree": 2, "theta": 2, "round_ms": 50.0, "request_ms": 60.0, "grace_ms": 200.0}),
    )

    def plan(self, ground: Ground, options: QosOptions) -> Division:
        if ground.schema is None:
            raise SchemeError("qos divides the content, and must know its schema")
        names = [name.strip() for name in options.attributes.split(",") if name.strip()]
        space = DzSpace.of(ground.schema, names)
        return Division(space, {node: (node // 2,) if node else () for node in ground.places})

    def assign(self, plan: Division, nodes: Sequence[NodeId]) -> Division:
        renamed = {nodes[place]: tuple(sorted(nodes[each] for each in of)) for place, of in plan.contacts.items()}
        return Division(plan.space, renamed)

    def nodes(self, plan: Division, options: QosOptions, tables: TableFactory) -> Factory:
        return lambda node: Qos(node, plan.space, tables, options)

    def contacts(self, plan: Division, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]


SCHEME = QosScheme()
