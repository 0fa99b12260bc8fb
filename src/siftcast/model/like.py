"""LIKE patterns, matched in time linear in the text whatever the pattern.

A pattern is cut at its `%` into segments of fixed length. The first must start the text, the last must
end it, the others are found from left to right, each as early as possible, which is always safe because
`%` takes whatever is left between. A segment without `_` is found by `str.find` (linear since CPython
3.10); one with `_` by the shift-and automaton, whose state is one integer with a bit per pattern
character. Translating to a regular expression was rejected: `%a%a%a%b` backtracks polynomially.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

    def fits(self, text: str, start: int) -> bool:
        """Whether the segment stands at `start`, which leaves room for it."""
        return all(want is ANY or text[start + i] == want for i, want in enumerate(self.characters))


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
        size = len(first.characters)
        return lambda text: len(text) == size and first.fits(text, 0)
    inner = tuple(segment for segment in segments[1:-1] if segment.characters)
    if not inner and first.text is not None and last.text is not None:
        return _ends_matcher(first.text, last.text)
    if len(inner) == 1 and not first.characters and not last.characters and inner[0].text is not None:
        contained = inner[0].text
        return lambda text: contained in text
    return _general_matcher(first, tuple(_finder(segment) for segment in inner), last)


def _ends_matcher(head: str, tail: str) -> Callable[[str], bool]:
    if not tail:
        return lambda text: text.startswith(head)
    shortest = len(head) + len(tail)
    return lambda text: len(text) >= shortest and text.startswith(head) and text.endswith(tail)


Finder = Callable[[str, int, int], int]


def _general_matcher(first: Segment, finders: tuple[Finder, ...], last: Segment) -> Callable[[str], bool]:
    head, tail = len(first.characters), len(last.characters)

    def matches(text: str) -> bool:
        end = len(text) - tail
        if end < head or not first.fits(text, 0) or not last.fits(text, end):
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
            found = text.find(plain, start, end)
            return found + size if found >= 0 else -1

        return find_plain
    return _shift_and(segment)


def _shift_and(segment: Segment) -> Finder:
    everywhere = 0
    masks: dict[str, int] = {}
    for bit, character in enumerate(segment.characters):
        if character is None:
            everywhere |= 1 << bit
        else:
            masks[character] = masks.get(character, 0) | 1 << bit
    masks = {character: mask | everywhere for character, mask in masks.items()}
    accept = 1 << len(segment.characters) - 1

    def find_wild(text: str, start: int, end: int) -> int:
        state = 0
        for position in range(start, end):
            state = (state << 1 | 1) & masks.get(text[position], everywhere)
            if state & accept:
                return position + 1
        return -1

    return find_wild
