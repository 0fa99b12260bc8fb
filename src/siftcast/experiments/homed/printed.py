"""HOMED exactly as printed: Algorithms 2.1 to 2.4, as a plain model in memory.

Nodes have distinct identifiers of `bits` bits. Each has a cover, the part of the cube that it answers for, which begins
as the whole cube and is split at the first bit (from the left) in which owner and newcomer differ; a table, with an
entry for each identifier one bit away; and back-pointers, the nodes whose tables name it.

What is printed is kept, also where it fails:

- DISSEMINATION hands a part to a neighbour and keeps it itself, so that parts overlap. With `shrinks`, the sender
  gives away what it hands on, as the prose says.
- SUBSCRIBE fills the table of a newcomer from the table and the back-pointers of the node that answered for it. These
  were made for another identifier.
- SUBSCRIBE moves a back-pointer to the newcomer as soon as one entry is, although another entry of the same node may
  still name the old owner.
- ROUTE stops for good where no neighbour is nearer.

`settled` makes the tables as they should be, so that each algorithm can be seen apart from the errors of the others.
Nothing here sends messages: a call returns who would have been sent what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self


class Part(NamedTuple):
    """Identifiers that agree with `value` in the bits of `fixed`; an event's, a cover, or a single one."""

    fixed: int
    value: int

    def distance(self, other: Part) -> int:
        """Bits in which two parts differ; wild cards differ from nothing."""
        return ((self.value ^ other.value) & self.fixed & other.fixed).bit_count()

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, int) and (identifier & self.fixed) == self.value

    def half(self, bit: int, identifier: int) -> Part:
        """The half, divided at a bit, to which an identifier belongs."""
        mask = 1 << bit
        return Part(self.fixed | mask, (self.value & ~mask) | (identifier & mask))

    def joins(self, other: Part) -> bool:
        """Whether the two together are a part again."""
        differing = self.value ^ other.value
        return self.fixed == other.fixed and differing.bit_count() == 1

    def show(self, bits: int) -> str:
        """The paper's notation: `1**`."""
        places = [1 << bit for bit in reversed(range(bits))]
        return "".join("*" if not self.fixed & place else "1" if self.value & place else "0" for place in places)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From the paper's notation: `1**`."""
        fixed = int("".join("0" if each == "*" else "1" for each in text), 2)
        return cls(fixed, int(text.replace("*", "0"), 2))


@dataclass(slots=True, eq=False)
class PrintedNode:
    """A node: its identifier, its cover, its table (by bit), and who points to it."""

    identifier: int
    cover: Part
    table: dict[int, PrintedNode] = field(default_factory=dict)
    back: dict[PrintedNode, None] = field(default_factory=dict)

    @property
    def neighbours(self) -> list[PrintedNode]:
        """Everyone in the table but itself, once."""
        return [node for node in dict.fromkeys(self.table.values()) if node is not self]


class Sent(NamedTuple):
    """A copy of an event, with the part that its receiver answers for."""

    sender: PrintedNode
    receiver: PrintedNode
    part: Part


class Subscribed(NamedTuple):
    """What Algorithm 2.3 came to: the entries it could not fill, and its messages after the route."""

    node: PrintedNode
    unfilled: int
    messages: int


@dataclass(slots=True)
class _Split:
    """A division of a part of the cube at a bit: what lies on the side of its 0 and of its 1."""

    bit: int
    sides: list[PrintedNode | _Split]


class PrintedCube:
    """All nodes, and what an observer knows: who answers for which identifier."""

    def __init__(self, bits: int, first: int) -> None:
        self.bits = bits
        self.whole = (1 << bits) - 1
        node = PrintedNode(first, Part(0, 0))
        node.table = dict.fromkeys(range(bits), node)
        self.nodes: dict[int, PrintedNode] = {first: node}
        self._splits: PrintedNode | _Split = node

    @classmethod
    def settled(cls, bits: int, identifiers: Iterable[int]) -> Self:
        """The covers that joining in this order makes, and tables and back-pointers as they should be."""
        order = iter(identifiers)
        cube = cls(bits, next(order))
        for identifier in order:
            cube._divide(cube.owner(identifier), identifier)
        cube.mend()
        return cube

    def mend(self) -> None:
        """Fills all tables and back-pointers as they should be."""
        for node in self.nodes.values():
            node.back = {}
        for node in self.nodes.values():
            node.table = {bit: self.owner(node.identifier ^ (1 << bit)) for bit in range(self.bits)}
            for neighbour in node.neighbours:
                neighbour.back[node] = None

    def owner(self, identifier: int) -> PrintedNode:
        """Who answers for an identifier: no node could know that by itself."""
        at = self._splits
        while isinstance(at, _Split):
            at = at.sides[identifier >> at.bit & 1]
        return at

    # -- Algorithm 2.1 -------------------------------------------------------------------------------

    def route(self, start: PrintedNode, wanted: Part, *, by_cover: bool) -> tuple[int, PrintedNode | None]:
        """Hops to a node that is no distance away, and the node; none if the way ends before.

        Distances are those of identifiers, as for events, or those of covers, as for newcomers.
        """

        def distance(node: PrintedNode) -> int:
            return wanted.distance(node.cover if by_cover else Part(self.whole, node.identifier))

        at, hops = start, 0
        while (here := distance(at)) != 0:
            nearest = min(at.neighbours, key=distance, default=at)
            if distance(nearest) >= here:
                return hops, None
            at, hops = nearest, hops + 1
        return hops, at

    # -- Algorithm 2.2 -------------------------------------------------------------------------------

    def disseminate(
        self,
        first: PrintedNode,
        event: Part,
        *,
        shrinks: bool,
        cost: Mapping[tuple[int, int], float] | None = None,
        copies_max: int = 1_000_000,
    ) -> list[Sent]:
        """Every copy that is sent from the first node with the event on; neighbours of least cost are served first."""
        copies: list[Sent] = []
        waiting = deque([(first, event)])
        while waiting and len(copies) < copies_max:
            node, part = waiting.popleft()
            chosen = [other for other in node.neighbours if other.identifier in part]
            if cost is not None:
                chosen.sort(key=lambda other: cost.get((node.identifier, other.identifier), 0.0))
            for other in chosen:
                if shrinks and other.identifier not in part:
                    continue
                bit = (node.identifier ^ other.identifier).bit_length() - 1
                given = part.half(bit, other.identifier)
                copies.append(Sent(node, other, given))
                waiting.append((other, given))
                if shrinks:
                    part = part.half(bit, node.identifier)
        return copies

    # -- Algorithm 2.3 -------------------------------------------------------------------------------

    def subscribe(self, identifier: int) -> Subscribed:
        """Steps 2 and 3 for a newcomer whose position is found, which is more than step 1 may do."""
        owner = self.owner(identifier)
        node = self._divide(owner, identifier)
        known = dict.fromkeys([*owner.table.values(), *owner.back])
        for bit in range(self.bits):
            ideal = identifier ^ (1 << bit)
            for other in known:
                if ideal in other.cover:
                    node.table[bit] = other
                    other.back[node] = None
            if ideal in node.cover:
                node.table[bit] = node
        pointing = list(dict.fromkeys([owner, *owner.back]))
        for other in pointing:
            for bit in other.table:
                if (other.identifier ^ (1 << bit)) in node.cover:
                    other.table[bit] = node
                    owner.back.pop(other, None)
                    node.back[other] = None
        return Subscribed(node, self.bits - len(node.table), len(known) + len(pointing))

    # -- Algorithm 2.4 -------------------------------------------------------------------------------

    @staticmethod
    def takers_part(leaving: PrintedNode, heir: PrintedNode) -> set[PrintedNode]:
        """Everyone who is sent something when an heir takes over from a node, the heir included."""
        return {heir, *leaving.back, *leaving.neighbours, *heir.back} - {leaving}

    # -- covers --------------------------------------------------------------------------------------

    def _divide(self, owner: PrintedNode, identifier: int) -> PrintedNode:
        if identifier in self.nodes:
            raise ValueError(f"identifier {identifier:0{self.bits}b} is there already, and must be distinct")
        bit = (owner.identifier ^ identifier).bit_length() - 1
        node = PrintedNode(identifier, owner.cover.half(bit, identifier))
        owner.cover = owner.cover.half(bit, owner.identifier)
        self.nodes[identifier] = node
        split = _Split(bit, [node, owner] if owner.identifier >> bit & 1 else [owner, node])
        at = self._splits
        if at is owner:
            self._splits = split
        while isinstance(at, _Split):
            side = identifier >> at.bit & 1
            if at.sides[side] is owner:
                at.sides[side] = split
                break
            at = at.sides[side]
        return node
