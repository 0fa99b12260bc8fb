"""Why an event did or did not match: the tree of a filter with a verdict at every node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import cast

from siftcast.model.errors import ArgumentError
from siftcast.model.expression import (
    And,
    Attributes,
    Not,
    Or,
    Predicate,
    Reference,
    Truth,
    children,
    conjoin,
    disjoin,
    negate,
    references,
)
from siftcast.model.printing import to_sql, write_value
from siftcast.model.values import Value, kind_of, normalise

_MARKS = {True: "✓", False: "✗", None: "?"}
_WORDS = {True: "true", False: "false", None: "unknown"}
_JOINTS: dict[type, tuple[str, Callable[[tuple[Truth, ...]], Truth]]] = {
    And: ("all of", conjoin),
    Or: ("any of", disjoin),
    Not: ("not", lambda truths: negate(truths[0], True)),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One node's verdict; `because` says what the event held, `parts` are the verdicts below."""

    text: str
    verdict: Truth
    because: str
    parts: tuple[Explanation, ...] = ()

    def __post_init__(self) -> None:
        if not (self.verdict is None or isinstance(self.verdict, bool)) or not isinstance(self.parts, tuple):
            raise ArgumentError("an explanation has a verdict (True, False or None) and a tuple of explanations")

    def __str__(self) -> str:
        return "\n".join(self._lines("", "", ""))

    def _lines(self, lead: str, branch: str, rest: str) -> Iterator[str]:
        because = f"   ({self.because})" if self.because else ""
        yield f"{lead}{branch}{_MARKS[self.verdict]} {self.text}{because}"
        for index, part in enumerate(self.parts):
            last = index == len(self.parts) - 1
            yield from part._lines(lead + rest, "└─ " if last else "├─ ", "   " if last else "│  ")


def explain(node: Predicate, attributes: Attributes) -> Explanation:
    """The verdicts of a tree on one event; those of the leaves decide the others, so each is found out once."""
    if isinstance(node, And | Or | Not):
        parts = tuple(explain(part, attributes) for part in children(node))  # type: ignore[arg-type]
        title, joined = _JOINTS[type(node)]
        verdict = joined(tuple(part.verdict for part in parts))
        return Explanation(title, verdict, _WORDS[verdict] if verdict is None else "", parts)
    verdict = node.evaluate(attributes)
    return Explanation(to_sql(node), verdict, _reason(node, attributes, verdict))


def _reason(node: Predicate, attributes: Attributes, verdict: Truth) -> str:
    seen: dict[str, str] = {}
    for reference in references(node):
        seen.setdefault(reference.name, _describe(reference, attributes))
    facts = ", ".join(f"{name} {fact}" for name, fact in seen.items())
    if verdict is None and seen and not any("missing" in fact for fact in seen.values()):
        return f"{facts}: cannot be compared, so unknown"
    return f"{facts}: unknown" if verdict is None and facts else facts


def _describe(reference: Reference, attributes: Attributes) -> str:
    raw = reference.raw(attributes)
    if raw is None:
        return "is missing or null"
    value = normalise(raw)
    kind = kind_of(value)
    if kind is None:
        return "is NaN" if isinstance(raw, float) else f"is of type {type(raw).__name__}"
    return f"is {_short(value)}"


def _short(value: object, width: int = 60) -> str:
    finite = not isinstance(value, float) or isfinite(value)  # SQL has no literal for an infinity
    if isinstance(value, int) and value.bit_length() > 4_096:  # Python refuses to write longer ones out
        return f"an integer of {value.bit_length():,} bits"
    if isinstance(value, str):
        value = value[:width]  # the rest is not shown, and may be very long
    text = write_value(cast(Value, value)) if finite else repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"
