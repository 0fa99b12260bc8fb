"""What a scheme says about itself, so that nothing that runs it must know it by name.

    options ──▶ configure ──▶ plan(ground, options) ──▶ assign(plan, nodes) ──▶ nodes(plan, options, tables)
                                                              └──▶ contacts(plan, node)

A plan is made of places 0 … n-1; `assign` puts the identities of nodes in their stead. In the simulator the identity of
a node is its place. `nodes` makes a protocol for each node, `contacts` says whom it may have to send something.

A scheme is stateless: everything about one network is in its options and its plan. Runtimes hand plans through and
never look inside; what they show of a network (`edges`) they ask for.

To add a scheme: write its protocol in `overlays/protocols`, and a file here that ends in `SCHEME = …` and is named as
the scheme is, with `_` for `-`. `examples` names the options that the conformance suite tries. See
docs/adding-a-scheme.md.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.durability import forgotten_messages
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.ground import Ground

Factory = Callable[[NodeId], Protocol]
Options = TypeVar("Options")
Plan = TypeVar("Plan")
_INTEGER_MAX = 2**63 - 1  # what messages between nodes can say


class SchemeError(SiftcastError):
    """There is no scheme of this name, or it has no such option, or it cannot be laid out so."""

    code = "scheme"


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Nothing to choose."""


class Scheme(ABC, Generic[Options, Plan]):
    """A named way of delivering events."""

    name: ClassVar[str]
    description: ClassVar[str]
    protocol: ClassVar[type[Protocol]]
    options: Options
    """The defaults: a frozen dataclass that checks itself, whose fields are the options."""
    simulated_only: ClassVar[str] = ""
    """Why it does not run on sockets; empty if it does."""
    needs_schema: ClassVar[bool] = False
    """Whether it divides the content, and so must know its schema."""
    uses_schema: ClassVar[bool] = False
    """Whether it divides the content if it knows the schema, and can do without."""
    sends_once: ClassVar[bool] = True
    """Whether no node is sent an event twice by messages of one kind."""
    begins_with_contacts: ClassVar[bool] = False
    """Whether its nodes want `Started.contacts` and to hear of those they watch only; others hear of all they met."""
    ticks: ClassVar[bool] = False
    """Whether its nodes set timers for ever, so that a run ends at a time and not when nothing is left to do."""
    examples: ClassVar[tuple[Mapping[str, object], ...]] = (MappingProxyType({}),)
    """Options that the conformance suite tries."""

    @abstractmethod
    def plan(self, ground: Ground, options: Options) -> Plan:
        """Lays the scheme out on a network; raises ValueError or SchemeError where it cannot."""

    def assign(self, plan: Plan, nodes: Sequence[NodeId]) -> Plan:
        """The plan for real nodes: `nodes[place]` in place of each place. What is only simulated needs none."""
        raise NotImplementedError(f"{self.name} runs in the simulator only: {self.simulated_only}")

    @abstractmethod
    def nodes(self, plan: Plan, options: Options, tables: TableFactory) -> Factory:
        """Makes the protocol of each node."""

    @abstractmethod
    def contacts(self, plan: Plan, node: NodeId) -> tuple[NodeId, ...]:
        """Whom a node may have to send something, ascending."""

    def edges(self, plan: Plan, nodes: Iterable[NodeId]) -> tuple[tuple[NodeId, NodeId], ...]:
        """The links of the overlay, for pictures."""
        pairs = {(min(node, other), max(node, other)) for node in nodes for other in self.contacts(plan, node)}
        return tuple(sorted(pairs))

    def advertises(self, options: Options) -> bool:
        """Whether publishers must say beforehand what they publish."""
        return False

    def keeps_order(self, options: Options) -> bool:
        """Whether durable events of one publisher arrive in its order, as long as the plan stays."""
        return True

    @property
    def is_durable(self) -> bool:
        """Whether a durable node can run it: all that its control messages say can be remembered."""
        return not self.begins_with_contacts and not forgotten_messages(self.protocol)

    @property
    def is_renewed(self) -> bool:
        """Whether nodes of the wire's version before would not understand all that its nodes say."""
        return any(kind.renewed for kind in self.protocol.messages)

    def objection(self, options: Options, *, sockets: bool, durable: bool) -> str:
        """Why it cannot run like this with these options, though it can with others; empty if it can."""
        return ""

    def remarks(self, ground: Ground, options: Options, plan: Plan) -> tuple[str, ...]:
        """What in the options came out otherwise than it says, or does nothing, on this network: a sentence each."""
        return ()

    def cost(self, plan: Plan, ground: Ground) -> float | None:
        """The mean delay in ms between two nodes, by this plan and on this ground; the plan may be of another ground.

        None where another ground would give no better plan: delays do not count in it, or people wrote its links down.
        """
        return None

    def configure(self, changes: Mapping[str, object]) -> Options:
        """The options with some of them changed; unknown names and bad values raise `SchemeError`."""
        fields: Any = self.options
        known = {each.name: type(getattr(self.options, each.name)) for each in dataclasses.fields(fields)}
        for name, value in changes.items():
            if name not in known:
                listed = ", ".join(known) or "none"
                raise SchemeError(f"scheme '{self.name}' has no option '{name}' (options: {listed})")
            if type(value) is not known[name] and not (known[name] is float and type(value) is int):
                hint = f", so write it in quotes: {name} = '{value}'" if isinstance(value, list) else ""
                raise SchemeError(
                    f"option '{name}' of scheme '{self.name}' is of type {known[name].__name__}{hint}: {value!r}"
                )
            if type(value) is int and not -_INTEGER_MAX <= value <= _INTEGER_MAX:
                raise SchemeError(
                    f"option '{name}' of scheme '{self.name}' is a number from -{_INTEGER_MAX:,} to {_INTEGER_MAX:,}"
                )
        try:
            changed: Options = dataclasses.replace(fields, **changes)
        except ValueError as error:
            raise SchemeError(f"scheme '{self.name}': {error}") from None
        return changed
