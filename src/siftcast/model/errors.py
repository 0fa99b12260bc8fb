"""Every error a user of Siftcast can meet: one root, one stable code each, fields a program can read.

Messages are written for the person who must act on them: what was wrong, where, and what would be
accepted instead. `docs/errors.md` lists them and those of all other rooms.
"""

from __future__ import annotations

from functools import partial


class SiftcastError(Exception):
    """The root: `except SiftcastError` catches every mistake that Siftcast itself reports."""

    code = "siftcast"


class ArgumentError(SiftcastError, ValueError):
    """A function was called with an argument that it cannot use; says which, and what it takes."""

    code = "argument"


class FilterError(SiftcastError):
    """A filter cannot be used."""

    code = "filter"


class FilterSyntaxError(FilterError):
    """The text of a filter does not follow the dialect; names the place and what was expected."""

    code = "filter-syntax"

    def __init__(self, problem: str, text: str, offset: int, *, expected: str = "") -> None:
        self.problem = problem
        self.text = text
        self.offset = offset
        self.expected = expected
        before = text[:offset]
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(self._message())

    def _message(self) -> str:
        line_text = self.text.split("\n")[self.line - 1]
        excerpt, caret = _excerpt(line_text, self.column - 1)
        hint = f"; expected {self.expected}" if self.expected else ""
        return f"line {self.line}, column {self.column}: {self.problem}{hint}\n  {excerpt}\n  {' ' * caret}^"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), self.problem, self.text, self.offset, expected=self.expected), ()


def _excerpt(line: str, column: int, width: int = 100) -> tuple[str, int]:
    """At most `width` characters of a line around a column, and where the column is in them."""
    start = max(0, min(column - width // 2, len(line) - width))
    end = min(len(line), start + width)
    head = "…" if start > 0 else ""
    tail = "…" if end < len(line) else ""
    shown = "".join(character if character.isprintable() else "·" for character in line[start:end])
    return head + shown + tail, column - start + len(head)


class FilterTypeError(FilterError):
    """A filter compares things that can never be compared, by itself or under a schema."""

    code = "filter-type"


class FilterLimitError(FilterError):
    """A filter is longer, deeper or larger than the limits allow."""

    code = "filter-limit"

    def __init__(self, what: str, found: int, limit: int) -> None:
        self.what = what
        self.found = found
        self.limit = limit
        super().__init__(f"the filter has {what} {found:,}, the limit is {limit:,}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.found, self.limit)


class SchemaError(SiftcastError):
    """A schema is not well formed, or a value does not fit the schema."""

    code = "schema"


class EventError(SiftcastError):
    """An event cannot be read."""

    code = "event"


class SubscriptionError(SiftcastError):
    """A subscription cannot be added, replaced or removed."""

    code = "subscription"


class EngineError(SiftcastError):
    """A matching engine does not exist, or its saved form cannot be read."""

    code = "engine"


class WorkloadError(SiftcastError):
    """A workload cannot be generated with these parameters."""

    code = "workload"


class DataError(SiftcastError):
    """A file or table that a user handed in cannot be used as a whole."""

    code = "data"


class ClusteringError(SiftcastError):
    """Subscriptions cannot be clustered with these parameters, or from these matches."""

    code = "clustering"


class UnderlayError(SiftcastError):
    """A physical network cannot be generated, joined or routed with these parameters."""

    code = "underlay"


class TopologyFileError(UnderlayError):
    """A file that describes a network cannot be read; names the file, the line and what would be accepted."""

    code = "topology-file"

    def __init__(self, path: str, problem: str, *, line: int | None = None, remedy: str = "") -> None:
        self.path = path
        self.problem = problem
        self.line = line
        self.remedy = remedy
        place = path if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), self.path, self.problem, line=self.line, remedy=self.remedy), ()
