"""The scheme `homed`: peers that lie near others of similar interests, so that events go to few who do not want them.

There is nothing to plan but what digests are made of. Each node begins with a node listed before it; the first one
founds the network. The schema says which attributes have a domain that digests can divide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.homed import Homed, HomedSettings
from siftcast.overlays.protocols.homed.interests import RECEIVER_BITS
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme, SchemeError
from siftcast.schemes.ground import Ground
from siftcast.space.digests import DIGEST_KINDS, InterestDigests

_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class HomedOptions:
    """How digests are made (`bits`, `digest`, `attributes` by commas), tables laid out, and nodes missed.

    `bits` 0 are as many as there is room for.
    """

    bits: int = 0
    digest: str = "segments"
    attributes: str = ""
    hashes: int = 2
    contacts: int = 4
    arity: int = 2
    layout: str = "full"
    duplicates: str = "identifier"
    piggyback: int = 0
    positions: int = 1
    drift: float = 0.1
    receivers: str = ""
    heartbeat_ms: float = 2_000.0
    request_ms: float = 300.0
    linger_ms: float = 30_000.0

    def __post_init__(self) -> None:
        if self.digest not in DIGEST_KINDS:
            raise ValueError(f"digest is one of {', '.join(DIGEST_KINDS)}, not {self.digest!r}")
        if self.arity not in (2, 4, 8, 16):
            raise ValueError(f"arity is 2, 4, 8 or 16, not {self.arity}")
        if self.bits and not 2 <= self.bits <= self.bits_max:
            why = f", because '{self.receivers}' for receivers takes {RECEIVER_BITS} more" if self.receivers else ""
            raise ValueError(f"bits are 2 to {self.bits_max}, not {self.bits}{why}; leave them out for the most")
        most = self.bits or self.bits_max
        if not 1 <= self.hashes <= most:
            raise ValueError(f"hashes are 1 to {most}, which is how many bits there are, not {self.hashes}")
        self.settings()

    @property
    def bits_max(self) -> int:
        """How many bits there is room for."""
        return _WORD_BITS - (RECEIVER_BITS if self.receivers else 0)

    def settings(self) -> HomedSettings:
        """What each node is made with: the options of the same names, and the arity in bits."""
        shared: dict[str, Any] = {
            each.name: getattr(self, each.name) for each in fields(HomedSettings) if hasattr(self, each.name)
        }
        return HomedSettings(arity_bits=self.arity.bit_length() - 1, **shared)


@dataclass(frozen=True, slots=True)
class Digesting:
    """In place of a plan: what digests are made of, and through whom each node enters."""

    digests: InterestDigests
    contacts: Mapping[NodeId, tuple[NodeId, ...]]


class HomedScheme(Scheme[HomedOptions, Digesting]):
    """Peers placed by their interests."""

    name = "homed"
    description = "peers near others of similar interests; events go from one that wants them to the next"
    protocol = Homed
    options = HomedOptions()
    needs_schema = True
    sends_once = False  # several positions of a node may want an event
    begins_with_contacts = True
    ticks = True
    examples = (
        MappingProxyType({}),
        MappingProxyType({"bits": 4, "duplicates": "tree"}),
        MappingProxyType({"piggyback": 4, "positions": 3}),
        MappingProxyType({"arity": 4, "digest": "hashed", "bits": 8}),
        MappingProxyType({"arity": 8, "layout": "neighbours", "bits": 12}),
    )

    def plan(self, ground: Ground, options: HomedOptions) -> Digesting:
        if ground.schema is None:
            raise SchemeError("homed makes digests of events and filters, and must know their schema")
        names = [name.strip() for name in options.attributes.split(",") if name.strip()]
        if options.receivers and options.receivers not in {attribute.name for attribute in ground.schema}:
            raise SchemeError(
                f"receivers are named in attribute '{options.receivers}', which the schema has not; "
                "add it, of type int and without a domain"
            )
        bits = options.bits or options.bits_max
        digests = InterestDigests.of(ground.schema, names, bits=bits, kind=options.digest, hashes=options.hashes)
        return Digesting(digests, {node: (node // 2,) if node else () for node in ground.places})

    def assign(self, plan: Digesting, nodes: Sequence[NodeId]) -> Digesting:
        renamed = {nodes[place]: tuple(sorted(nodes[each] for each in of)) for place, of in plan.contacts.items()}
        return Digesting(plan.digests, renamed)

    def nodes(self, plan: Digesting, options: HomedOptions, tables: TableFactory) -> Factory:
        settings = options.settings()
        return lambda node: Homed(node, plan.digests, tables, settings)

    def contacts(self, plan: Digesting, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]


SCHEME = HomedScheme()
