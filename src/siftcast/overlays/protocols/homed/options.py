"""What a HOMED node can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layout = Literal["full", "neighbours"]
Duplicates = Literal["identifier", "tree"]


@dataclass(frozen=True, slots=True)
class HomedSettings:
    """The choices of one network; all its nodes have the same.

    `arity_bits`: splits that make a row of the table. `layout`: whether a row knows all its values or the nearest two.
    `duplicates`: whether places of one digest are divided by their identifiers or form a tree.
    """

    contacts: int = 4
    arity_bits: int = 1
    layout: Layout = "full"
    duplicates: Duplicates = "identifier"
    piggyback: int = 0
    """On sides of at most so many places, filters themselves are known as well; 0 for none."""
    positions: int = 1
    drift: float = 0.1
    """The share of the bits in which a place's digest may differ from its vertex before it moves; 1 for never."""
    heartbeat_ms: float = 2_000.0
    request_ms: float = 300.0
    move_ms: float = 100.0
    linger_ms: float = 30_000.0
    """How long a place that ended still passes things on."""
    forget_ms: float = 3_600_000.0
    """After so long, a lost contact is taken for gone."""
    receivers: str = ""
    """The attribute by which a publisher names the nodes that may receive an event; empty for none."""

    def __post_init__(self) -> None:
        if not 1 <= self.contacts <= 16:
            raise ValueError(f"a split has 1 to 16 contacts, not {self.contacts}")
        if not 1 <= self.arity_bits <= 4:
            raise ValueError(f"a row of the table has 1 to 4 splits, not {self.arity_bits}")
        if self.layout not in ("full", "neighbours"):
            raise ValueError(f"the layout is 'full' or 'neighbours', not {self.layout!r}")
        if self.duplicates not in ("identifier", "tree"):
            raise ValueError(f"duplicates are divided by 'identifier' or form a 'tree', not {self.duplicates!r}")
        if self.piggyback < 0:
            raise ValueError(f"piggyback is a number of places, at least 0: {self.piggyback}")
        if not 1 <= self.positions <= 16:
            raise ValueError(f"a node has 1 to 16 positions, not {self.positions}")
        if not 0 <= self.drift <= 1:
            raise ValueError(f"drift is a share from 0 to 1, not {self.drift}")
        for name in ("heartbeat_ms", "request_ms", "move_ms", "linger_ms", "forget_ms"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is a time longer than 0, not {getattr(self, name)}")
