"""Filters as conjunctions of credentials.

A conjunction has for each dimension some credentials, one of which an event must have: a box whose sides are unions of
subtrees. A filter is a union of boxes, and each is issued for itself: with one issuance for (A00 and B00) or (A11 and
B11), one could open A00 and B11.

Keys cannot say "some of these": what is no exact union of cells is refused, never widened, because a key for more is
a right to more. The message names the nearest filter that keys can be made for. What it holds beyond that, the
subscriber tells apart after opening.
"""

from __future__ import annotations

from siftcast.model import FilterError
from siftcast.model.expression import Like, Predicate, Reference, references
from siftcast.model.filter import AnyFilter, as_filter
from siftcast.model.intervals import IntervalSet
from siftcast.model.normal_form import Conjunction, Path, Residue, Within, normal_form
from siftcast.model.values import Kind
from siftcast.security.credentials.credential_schema import CredentialSchema
from siftcast.security.credentials.dimensions import Dimension, NoUnionError
from siftcast.security.credentials.paths import ROOT, CredentialPath
from siftcast.security.credentials.texts import SuffixDimension, end_asked_for

CredentialConjunction = tuple[tuple[CredentialPath, ...], ...]
"""For each dimension the credentials of which an event must have one."""
Slots = tuple[int, int]
_NO_RESIDUE: Residue = frozenset()


def conjunctions_of(
    schema: CredentialSchema, filter: AnyFilter, during: Slots | None = None
) -> tuple[CredentialConjunction, ...]:
    """The boxes of a filter, during some time slots (the last excluded) or all; raises FilterError.

    None where no event of the schema can match.
    """
    asked = as_filter(filter)
    asked.check(schema.schema)
    times = _times(schema, during)
    boxes = []
    for alternative in normal_form(asked.expression, scales=schema.schema.scales):
        box = _box(schema, alternative)
        if box is not None:
            boxes.append((*box, times) if times is not None else box)
    return tuple(boxes)


def _times(schema: CredentialSchema, during: Slots | None) -> tuple[CredentialPath, ...] | None:
    slots = schema.slots
    if slots is None:
        if during is not None:
            raise FilterError("the schema has no time slots, so keys are for whole epochs")
        return None
    if during is None:
        return (ROOT,)
    first, end = during
    if not 0 <= first < end <= slots.count:
        raise FilterError(f"time slots are from 0 up to {slots.count}, and at least one is asked for")
    asked = Within(Kind.NUMBER, IntervalSet((((0, first, 0), (0, end, 0)),)))
    return tuple(schema.dimensions[-1].credentials(asked, _NO_RESIDUE))


def _box(schema: CredentialSchema, alternative: Conjunction) -> CredentialConjunction | None:
    """The sides of a box; None if one is empty."""
    if not alternative.exact:
        raise NoUnionError("the filter has more alternatives than keys are made for; ask for some of them at a time")
    residue = _by_attribute(schema, alternative.residue)
    sides: list[tuple[CredentialPath, ...]] = []
    for name, dimensions in schema.by_attribute.items():
        constraint, left = alternative.constraints.get((name,)), residue.get((name,), _NO_RESIDUE)
        for dimension, side in zip(dimensions, _sides(dimensions, constraint, left), strict=True):
            if not side:
                return None
            assert all(len(path) <= dimension.depth for path in side)
            sides.append(tuple(side))
    return tuple(sides)


def _sides(dimensions: tuple[Dimension, ...], constraint: object, residue: Residue) -> list[list[CredentialPath]]:
    first, *others = dimensions
    if others and isinstance(others[0], SuffixDimension) and (end := end_asked_for(residue)) is not None:
        return [first.credentials(constraint, _NO_RESIDUE), others[0].credentials_of_end(end)]  # type: ignore[arg-type]
    return [first.credentials(constraint, residue), *([ROOT] for _ in others)]  # type: ignore[arg-type]


def _by_attribute(schema: CredentialSchema, residue: Residue) -> dict[Path, Residue]:
    """What is left of a filter by the one attribute that each part looks at; raises NoUnionError for other parts."""
    found: dict[Path, Residue] = {}
    for node, negated in residue:
        path = _only_path(node)
        if path is None:
            names = sorted({".".join(each.path) for each in references(node)})
            nearest = " AND ".join(f"{name} IS NOT NULL" for name in names)
            raise NoUnionError(f'"{node}" is no union of credentials; the nearest that is one: "{nearest}"')
        found[path] = found.get(path, _NO_RESIDUE) | {(node, negated)}
    return found


def _only_path(node: Predicate) -> Path | None:
    return node.operand.path if isinstance(node, Like) and isinstance(node.operand, Reference) else None
