"""LIKE patterns, matched in n log n in pattern and text, whatever they are.

A pattern is cut at its `%` into segments of fixed length. The first must start the text, the last must
end it, the others are found from left to right, each as early as possible, which is always safe because
`%` takes whatever is left between. A segment without `_` is found by `str.find` (linear since CPython
3.10); one with `_` by `wild_search`; in a long text that is searched for many patterns, both by its index
(`long_text`). Translating to a regular expression was rejected: `%a%a%a%b` backtracks polynomially.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from siftcast.model.long_text import LONG, index_of
from siftcast.model.wild_search import WildSearch

ANY = None  # stands for `_` within a segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of characters between two `%`; a character is a string of length one or ANY."""

    characters: tuple[str | None, ...]

    @property
    def text(self) -> str | None:
        """The segment as plain text, or None where it has a wildcard."""
        plain = [character for character in self.characters if character is not None]
        return "".join(plain) if len(plain) == len(self.characters) else None

    @property
    def parts(self) -> tuple[tuple[int, str], ...]:
        """The plain parts between wildcards, each with its place."""
        found: list[tuple[int, str]] = []
        run: list[str] = []
        for place, character in enumerate((*self.characters, ANY)):
            if character is not None:
                run.append(character)
            elif run:
                found.append((place - len(run), "".join(run)))
                run = []
        return tuple(found)


class LikePattern:
    """A parsed pattern; compares and hashes by its source."""

    __slots__ = ("matches", "segments", "source")

    source: str
    segments: tuple[Segment, ...]
    matches: Callable[[str], bool]

    def __init__(self, source: str) -> None:
        """Raises ValueError where a backslash escapes anything but `%`, `_` or itself."""
        self.source = source
        self.segments = tuple(_segments(source))
        self.matches = _matcher(self.segments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LikePattern) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"LikePattern({self.source!r})"

    def __reduce__(self) -> tuple[type[LikePattern], tuple[str]]:
        return LikePattern, (self.source,)

    @property
    def exact_text(self) -> str | None:
        """The one text the pattern matches, where it has no wildcard at all."""
        return self.segments[0].text if len(self.segments) == 1 else None

    @property
    def is_prefix(self) -> bool:
        """Whether the pattern is plain text followed by a single trailing `%` (or several)."""
        return (
            len(self.segments) > 1
            and self.segments[0].text is not None
            and not any(segment.characters for segment in self.segments[1:])
        )

    @property
    def prefix(self) -> str:
        """The plain text with which every match begins."""
        plain: list[str] = []
        for character in self.segments[0].characters:
            if character is None:
                break
            plain.append(character)
        return "".join(plain)


def _segments(source: str) -> list[Segment]:
    if "\\" not in source:
        return [Segment(tuple([ANY if one == "_" else one for one in run])) for run in source.split("%")]
    segments: list[Segment] = []
    run: list[str | None] = []
    position = 0
    while position < len(source):
        character = source[position]
        if character == "\\":
            position += 1
            if position == len(source) or source[position] not in "%_\\":
                raise ValueError("a backslash in a LIKE pattern must be followed by %, _ or another backslash")
            run.append(source[position])
        elif character == "%":
            segments.append(Segment(tuple(run)))
            run = []
        else:
            run.append(ANY if character == "_" else character)
        position += 1
    segments.append(Segment(tuple(run)))
    return segments


def _matcher(segments: tuple[Segment, ...]) -> Callable[[str], bool]:
    """The cheapest test for the shape of a pattern; the common ones are single string methods."""
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        if first.text is not None:
            return first.text.__eq__
        size, fits = len(first.characters), _fitting(first)
        return lambda text: len(text) == size and fits(text, 0)
    inner = tuple(segment for segment in segments[1:-1] if segment.characters)
    if not inner and first.text is not None and last.text is not None:
        return _ends_matcher(first.text, last.text)
    if len(inner) == 1 and not first.characters and not last.characters and inner[0].text is not None:
        return _containing(inner[0].text)
    return _general_matcher(first, tuple(_finder(segment) for segment in inner), last)


def _containing(piece: str) -> Callable[[str], bool]:
    def contains(text: str) -> bool:
        index = index_of(text) if len(text) >= LONG else None
        return piece in text if index is None else index.find(piece, 0, len(text)) >= 0

    return contains


def _ends_matcher(head: str, tail: str) -> Callable[[str], bool]:
    if not tail:
        return lambda text: text.startswith(head)
    shortest = len(head) + len(tail)
    return lambda text: len(text) >= shortest and text.startswith(head) and text.endswith(tail)


def _fitting(segment: Segment) -> Callable[[str, int], bool]:
    """A function (text, start) -> whether the segment stands there; there must be room for it."""
    parts = segment.parts
    return lambda text, start: all(text.startswith(part, start + place) for place, part in parts)


Finder = Callable[[str, int, int], int]


def _general_matcher(first: Segment, finders: tuple[Finder, ...], last: Segment) -> Callable[[str], bool]:
    head, tail = len(first.characters), len(last.characters)
    fits_first, fits_last = _fitting(first), _fitting(last)

    def matches(text: str) -> bool:
        end = len(text) - tail
        if end < head or not fits_first(text, 0) or not fits_last(text, end):
            return False
        position = head
        for find in finders:
            position = find(text, position, end)
            if position < 0:
                return False
        return True

    return matches


def _finder(segment: Segment) -> Finder:
    """A function (text, start, end) -> where the first occurrence ends, or -1."""
    plain = segment.text
    if plain is not None:
        size = len(plain)

        def find_plain(text: str, start: int, end: int) -> int:
            index = index_of(text) if len(text) >= LONG else None
            found = text.find(plain, start, end) if index is None else index.find(plain, start, end)
            return found + size if found >= 0 else -1

        return find_plain
    return WildSearch(len(segment.characters), segment.parts).find
