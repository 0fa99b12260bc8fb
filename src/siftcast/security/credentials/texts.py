"""Strings that are not listed: by their beginnings, by their ends, or by equality alone.

    "IBM"    prefix     value I B M end pad pad      (UTF-8, a byte a level; so many as the longest may have)
             suffix     value M B I end pad pad      a dimension of its own
             keyword    value SHA-256("IBM")

The end mark is what equality asks for: without it, a key for `= 'IBM'` opens IBMX. Padding hides how long a text is.
Each byte is a level, and levels are what an event costs, so state a length that is no longer than needed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from siftcast.model import EventError, SchemaError
from siftcast.model.expression import Like
from siftcast.model.intervals import Cut, Range, prefix_set
from siftcast.model.like import LikePattern
from siftcast.model.normal_form import Constraint, Presence, Residue, Within
from siftcast.model.values import Kind, Value
from siftcast.security.credentials.dimensions import LEVELS_MAX, Dimension, NoUnionError
from siftcast.security.credentials.paths import END, NULL, ROOT, VALUE, CredentialPath, padded

_CELLS_MAX = 64
"""How many beginnings may make up a range of strings."""
_SURROGATES = "\ud800", "\udfff"


@dataclass(frozen=True, slots=True)
class Text:
    """A string that is asked for by its beginning, with `suffix` by its end as well; at most so many bytes of UTF-8."""

    bytes_max: int = 16
    suffix: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.bytes_max, int) and 1 <= self.bytes_max <= LEVELS_MAX - 3):
            raise SchemaError(f"a Text has 1 to {LEVELS_MAX - 3} bytes, because each is a level; or make it a Keyword")


@dataclass(frozen=True, slots=True)
class Keyword:
    """A string that is asked for by equality only; at most so many bytes of UTF-8."""

    bytes_max: int = 64

    def __post_init__(self) -> None:
        if not (isinstance(self.bytes_max, int) and 1 <= self.bytes_max <= 1_024):
            raise SchemaError("a Keyword has 1 to 1,024 bytes")


def _symbols(data: bytes) -> CredentialPath:
    return tuple(data[at : at + 1] for at in range(len(data)))


class TextDimension(Dimension):
    """Strings without a list."""

    def __init__(self, attribute: str, bytes_max: int) -> None:
        self.attribute = attribute
        self.bytes_max = bytes_max

    def leaf(self, value: Value | None) -> CredentialPath:
        if value is None:
            return self.null
        assert isinstance(value, str)
        data = value.encode()
        if len(data) > self.bytes_max:
            most = f"and at most {self.bytes_max} have credentials"
            raise EventError(f"attribute '{self.attribute}': the text has {len(data)} bytes, {most}")
        return padded(self._equal(data), self.depth)

    def _equal(self, data: bytes) -> CredentialPath:
        """The credential of one text."""
        return (VALUE, *_symbols(data), END)

    def _single(self, text: str) -> list[CredentialPath]:
        data = text.encode()
        return [self._equal(data)] if len(data) <= self.bytes_max else []

    def credentials(self, constraint: Constraint | None, residue: Residue) -> list[CredentialPath]:
        if residue:
            raise self._no_union("IS NOT NULL")
        if constraint is None:
            return [ROOT]
        if constraint is Presence.NULL:
            return [(NULL,)]
        if isinstance(constraint, Within):
            if constraint.kind is not Kind.STRING:
                return []
            return [path for bounds in constraint.values.ranges for path in self._of_range(bounds)]
        return [(VALUE,)]

    def _of_range(self, bounds: Range) -> list[CredentialPath]:
        """The credentials of all texts between two cuts."""
        low, high = bounds
        if low == (0, "", 0) and len(high) == 1:
            return [(VALUE,)]
        if len(high) > 1 and high[1] == low[1] + "\0":
            return self._single(low[1])
        return self._of_wide_range(low, high)

    def _of_wide_range(self, low: Cut, high: Cut) -> list[CredentialPath]:
        raise self._no_union("IS NOT NULL")

    def _no_union(self, nearest: str) -> NoUnionError:
        return NoUnionError(
            f"what the filter asks of '{self.attribute}' is no union of {self.kind} credentials; "
            f'the nearest that is one: "{self.attribute} {nearest}"'
        )

    def layout(self) -> bytes:
        return f"{self.kind} {self.bytes_max}".encode()


class PrefixDimension(TextDimension):
    """Beginnings of strings, and whole ones."""

    kind = "prefix"

    def __init__(self, attribute: str, bytes_max: int) -> None:
        super().__init__(attribute, bytes_max)
        self.depth = bytes_max + 2

    def _of_wide_range(self, low: Cut, high: Cut) -> list[CredentialPath]:
        found: list[CredentialPath] = []
        text = low[1]
        for _ in range(_CELLS_MAX):
            above: Cut = prefix_set(text).ranges[0][1]
            if above <= high:
                if len(data := text.encode()) <= self.bytes_max:
                    found.append((VALUE, *_symbols(data)))
            else:
                found += self._single(text)
                above = (0, text + "\0", 0)
            if above == high:
                return found
            text = _past_surrogates(above[1])
        raise self._no_union(_nearest(low, high))


def _past_surrogates(text: str) -> str:
    """Halves of surrogate pairs are no text, and follow upon what is."""
    return text[:-1] + "\ue000" if text and _SURROGATES[0] <= text[-1] <= _SURROGATES[1] else text


def _nearest(low: Cut, high: Cut) -> str:
    """The longest beginning that all strings between two cuts have."""
    if len(high) == 1:
        return "IS NOT NULL"
    first: str = low[1]
    last: str = high[1]
    shared = next((at for at in range(len(first)) if first[at] != last[at : at + 1]), len(first))
    if not shared:
        return "IS NOT NULL"
    escaped = first[:shared]
    for special in ("\\", "%", "_"):
        escaped = escaped.replace(special, "\\" + special)
    return "LIKE '" + escaped.replace("'", "''") + "%'"


class SuffixDimension(TextDimension):
    """Ends of strings; whole ones are asked for by their beginnings."""

    kind = "suffix"

    def __init__(self, attribute: str, bytes_max: int) -> None:
        super().__init__(attribute, bytes_max)
        self.depth = bytes_max + 2

    def _equal(self, data: bytes) -> CredentialPath:
        return super()._equal(data[::-1])

    def credentials_of_end(self, end: str) -> list[CredentialPath]:
        """Those of all texts with an end."""
        data = end.encode()[::-1]
        return [(VALUE, *_symbols(data))] if len(data) <= self.bytes_max else []


class KeywordDimension(TextDimension):
    """Strings by their hashes."""

    kind = "keyword"
    depth = 2

    def _equal(self, data: bytes) -> CredentialPath:
        return VALUE, hashlib.sha256(data).digest()


def end_asked_for(residue: Residue) -> str | None:
    """The end of `LIKE '%end'` or `LIKE 'beginning%end'`, if that is all there is, and the two cannot overlap."""
    if len(residue) != 1:
        return None
    ((node, negated),) = residue
    if not isinstance(node, Like) or node.negated or negated:
        return None
    return _end_of(node.pattern)


def _end_of(pattern: LikePattern) -> str | None:
    segments = pattern.segments
    texts = [segment.text for segment in segments]
    first, last = texts[0], texts[-1]
    if first is None or not last or len(segments) < 2 or any(text != "" for text in texts[1:-1]):
        return None
    overlaps = any(first[at:] == last[: len(first) - at] for at in range(len(first)))
    return None if overlaps else last
