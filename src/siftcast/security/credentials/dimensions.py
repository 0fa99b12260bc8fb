"""Dimensions: how the values of an attribute become paths, and what a filter asks of them becomes credentials.

Values that can be counted lie on the grid that dz-expressions are made of (`space.dz`), each in a cell of its own. A
path of theirs is the dz-expression of the cell; NULL is a third symbol beside the first bit. A node for "any value"
between the root and the bits would cost each event a level. Without it, `IS NOT NULL` is two credentials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime

from siftcast.model import Attribute, EventError, FilterError, SchemaError
from siftcast.model.expression import Like
from siftcast.model.intervals import Cut
from siftcast.model.normal_form import Constraint, Presence, Residue
from siftcast.model.values import Kind, Value, microseconds
from siftcast.security.credentials.paths import NULL, ROOT, CredentialPath, of_cell, of_range, padded
from siftcast.space.dz.axes import GridAxis

LEVELS_MAX = 128
"""Of all credentials of one dimension in one event. Beyond some 256 a Waters hash gives away what it must hide."""
_MICROSECONDS = 1_000_000


class NoUnionError(FilterError):
    """A filter asks for what is no union of credentials; names the nearest that is."""


@dataclass(frozen=True, slots=True)
class Instants:
    """A timestamp attribute that is told in steps of so many seconds, because each halving costs a level."""

    step_s: float = 1.0

    def __post_init__(self) -> None:
        steps = self.step_s * _MICROSECONDS
        if not (isinstance(self.step_s, int | float) and 1 <= steps < 2**63 and steps == int(steps)):
            raise SchemaError("the step of a timestamp attribute is a number of seconds, in whole microseconds")


class Dimension(ABC):
    """One way to look at an attribute; a text that is asked for by its end as well has two."""

    attribute: str
    kind: str
    """What its labels begin with, so that dimensions of one attribute have nothing in common."""
    depth: int
    """How many symbols the path of each value has."""

    @property
    def null(self) -> CredentialPath:
        """The leaf of events without a value."""
        return padded((NULL,), self.depth)

    @abstractmethod
    def leaf(self, value: Value | None) -> CredentialPath:
        """The path of a value; raises EventError for a value that has none."""

    @abstractmethod
    def credentials(self, constraint: Constraint | None, residue: Residue) -> list[CredentialPath]:
        """Those of the values that a filter allows, none if it allows none; raises NoUnionError.

        `residue` is what else it asks of this attribute alone.
        """

    @abstractmethod
    def layout(self) -> bytes:
        """What tells this dimension from others, for the digest of the schema."""


class GridDimension(Dimension):
    """Values that can be counted: numbers on a grid, booleans, timestamps, strings of a list."""

    kind = "grid"

    def __init__(self, axis: GridAxis) -> None:
        axis.divide(max(axis.levels_wanted, 1), elsewhere=False)
        if not axis.exact:
            raise SchemaError(f"attribute '{axis.attribute.name}' has more values than 60 levels can tell apart")
        self._axis = axis
        self.attribute = axis.attribute.name
        self.depth = axis.inner

    def leaf(self, value: Value | None) -> CredentialPath:
        if value is None:
            return self.null
        cell = self._axis.cell(value)
        if cell is None:
            raise EventError(f"attribute '{self.attribute}': {value!r} is not one of the values that the schema has")
        return of_cell(cell, self.depth)

    def credentials(self, constraint: Constraint | None, residue: Residue) -> list[CredentialPath]:
        if constraint is Presence.NULL:
            return [(NULL,)]
        if constraint is None:
            return [ROOT]
        present = constraint is Presence.PRESENT
        ranges = ((0, 1 << self.depth),) if present else self._axis.cells(constraint)[0]
        if residue:
            ranges = self._thinned(ranges, residue)
        return [path for low, high in ranges for path in of_range(low, high, self.depth)]

    def _thinned(self, ranges: tuple[tuple[int, int], ...], residue: Residue) -> tuple[tuple[int, int], ...]:
        """The cells of those strings of the list that have a pattern, joined where nothing lies between them."""
        texts = self._axis.attribute.domain if self._axis.attribute.kind is Kind.STRING else None
        if texts is None or not all(isinstance(node, Like) for node, _ in residue):
            raise NoUnionError(
                f"what the filter asks of '{self.attribute}' is no union of its values; {self._nearest()}"
            )
        left: list[tuple[int, int]] = []
        for text in sorted(map(str, texts)):
            cell = self._axis.cell(text)
            assert cell is not None
            wanted = all(
                node.pattern.matches(text) is not (node.negated ^ negated)
                for node, negated in residue
                if isinstance(node, Like)
            )
            if wanted and any(low <= cell < high for low, high in ranges):
                left.append((cell, cell + 1))
        return tuple(left)

    def _nearest(self) -> str:
        return f'the nearest that is one: "{self.attribute} IS NOT NULL"'

    def layout(self) -> bytes:
        attribute = self._axis.attribute
        return repr((attribute.type, attribute.domain, attribute.granularity, self.depth)).encode()


class InstantAxis(GridAxis):
    """Timestamps, a step from one to the next; the first is where the domain begins."""

    def __init__(self, attribute: Attribute, instants: Instants) -> None:
        self._step_us = int(instants.step_s * _MICROSECONDS)
        super().__init__(attribute)
        self.count = (self.count - 1) // self._step_us + 1
        self.levels_wanted = (self.count - 1).bit_length()

    def _cell(self, value: Value) -> int | None:
        assert isinstance(value, datetime)
        index, beyond = divmod(microseconds(value) - self.base, self._step_us)
        if beyond:
            step_s = self._step_us / _MICROSECONDS
            raise EventError(
                f"{value} lies between two values of '{self.attribute.name}', which has steps of {step_s:g} s"
            )
        return self.cell_of_index(index) if 0 <= index < self.count else None

    def _index(self, cut: Cut) -> int:
        if len(cut) == 1:
            return 0 if cut[0] < 0 else self.count
        us: int = cut[1]
        return min(max(-((self.base - us) // self._step_us), 0), self.count)


def grid_dimension(attribute: Attribute, option: object) -> GridDimension:
    """The dimension of an attribute whose values can be counted; raises SchemaError for others."""
    name, kind = attribute.name, attribute.kind
    if isinstance(option, Instants):
        if kind is not Kind.TIMESTAMP or attribute.domain is None:
            raise SchemaError(f"attribute '{name}': steps in seconds are for a timestamp with a domain")
        return GridDimension(InstantAxis(attribute, option))
    if kind is Kind.BOOLEAN or (attribute.domain is not None and (kind is not Kind.NUMBER or attribute.scale.step)):
        return GridDimension(GridAxis(attribute))
    if kind is Kind.NUMBER:
        hint = (
            "state a domain, and a granularity unless it is an int" if attribute.type == "float" else "state a domain"
        )
        raise SchemaError(f"attribute '{name}': numbers that cannot be counted have no credentials; {hint}")
    if kind is Kind.STRING:
        raise SchemaError(
            f"attribute '{name}': say whether it is a Text or a Keyword, or list its values as its domain"
        )
    raise SchemaError(f"attribute '{name}': timestamps need a domain")
