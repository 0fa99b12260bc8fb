"""The columns of a table, and whether a filter asks something of them that none of its rows can answer.

A schema says what an application means; a table only has columns. Filters over a table are checked against its
columns, so a mistyped name is an error and not a filter that never matches. The check covers what a filter *demands*
of names: that they exist, and that compared values are of one kind (`values`). Demands hold no literals, so a million
filters come down to the few dozen demands that their forms make.

    price < 95            price: comparable with a number
    symbol LIKE 'A%'      symbol: of strings
    low < high            low, high: comparable with each other
    tags IS NOT NULL      tags: there

Spark, Arrow and pandas tables are recognised by how they describe themselves, not by their classes: this room imports
none of them. The fields of a struct column are known under their paths, too; a column of the whole dotted name comes
first, as everywhere. So `o.city` is the column of that name, or else the field `city` of `o`; in backquotes it is
only that column. Lists, maps, bytes and structs compare with nothing; they are only present or missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from siftcast.model.errors import FilterTypeError, SchemaError
from siftcast.model.expression import And, IsNull, Like, Literal, Not, Or, Reference, children
from siftcast.model.printing import to_sql
from siftcast.model.template import Hole
from siftcast.model.values import Kind, kind_of

Path = tuple[str, ...]

_SHOWN = 10
_ANY = "any"  # a column of nulls, whose type is not known
_OTHER = "other"  # compares with nothing

KIND_OF_COLUMN: dict[str, Kind] = {
    "int": Kind.NUMBER,
    "float": Kind.NUMBER,
    "string": Kind.STRING,
    "bool": Kind.BOOLEAN,
    "timestamp": Kind.TIMESTAMP,
}
_SPARK_TYPES = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "int"),
    **dict.fromkeys(("float", "double", "decimal"), "float"),
    **dict.fromkeys(("string", "char", "varchar"), "string"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "date"), "timestamp"),
    "boolean": "bool",
    "void": _ANY,
}
_ARROW_TYPES = {
    **dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "int"),
    **dict.fromkeys(("halffloat", "float", "double", "decimal32", "decimal64", "decimal128", "decimal256"), "float"),
    **dict.fromkeys(("string", "large_string", "string_view", "extension<arrow.uuid>"), "string"),
    **dict.fromkeys(("timestamp", "date32", "date64"), "timestamp"),
    "bool": "bool",
    "null": _ANY,
}


class Column(NamedTuple):
    """A column by the type that an attribute of it would have, and by what its table calls it."""

    type: str
    shown: str

    @property
    def kind(self) -> Kind | None:
        return KIND_OF_COLUMN.get(self.type)


class Demand(NamedTuple):
    """What one test of a filter asks of columns: to be there, and to compare with each other and with a kind.

    `like` is for the message only: no other spelling of a literal would make a number fit a pattern.
    """

    paths: tuple[Path, ...]
    kind: Kind | None
    compared: bool
    like: bool = False


def demands_of(tree: object) -> Iterator[Demand]:
    """What the tests of a tree ask, bound to literals or not; one for each test that names a column."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or | Not):
            waiting += reversed(tuple(children(node)))
            continue
        operands = (node,) if isinstance(node, Reference) else tuple(children(node))
        paths = tuple(dict.fromkeys(operand.path for operand in operands if isinstance(operand, Reference)))
        if not paths:
            continue
        if isinstance(node, Reference):
            yield Demand(paths, Kind.BOOLEAN, True)
        elif isinstance(node, Like):
            yield Demand(paths, Kind.STRING, True, like=True)
        elif isinstance(node, IsNull):
            yield Demand(paths, None, False)
        else:
            yield Demand(paths, next(filter(None, map(_kind, operands)), None), True)


def _kind(operand: object) -> Kind | None:
    if isinstance(operand, Hole):
        return operand.kind
    return kind_of(operand.constant) if isinstance(operand, Literal) else None


def _of_pandas(frame: Any) -> Any:
    """The table without rows that Arrow makes of a pandas frame, None of anything else."""
    if type(frame).__name__ != "DataFrame" or not type(frame).__module__.startswith("pandas."):
        return None
    import pyarrow as pa

    try:
        return pa.Schema.from_pandas(frame, preserve_index=False).empty_table()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"Arrow has no type for a column of this frame: {error}") from None


class Columns(Mapping[str, Column]):
    """The columns of a table by name, nested ones by their dotted names; `at` tells the two apart.

    Of columns with the same name the last counts; `repeated` is the name of such, if there are any.
    """

    __slots__ = ("_by_path", "_paths", "repeated")

    def __init__(self, columns: Mapping[Path, Column]) -> None:
        self._by_path = dict(columns)
        self.repeated: str | None = None
        self._paths: dict[str, Path] = {}  # of each name; flat columns come first, and count
        for path in self._by_path:
            self._paths.setdefault(".".join(path), path)

    @classmethod
    def of(cls, frame: Any) -> Columns:
        """The columns of a Spark, Arrow or pandas table, or of the schema of one; raises SchemaError for others."""
        table = _of_pandas(frame)
        described = getattr(frame if table is None else table, "schema", frame)
        if type(described).__name__ == "StructType" and hasattr(described, "jsonValue"):
            return cls._of_pairs(list(_pathed(_spark_columns(described.jsonValue()))))
        if type(described).__name__ == "Schema" and type(described).__module__.startswith("pyarrow."):
            return cls._of_pairs(list(_pathed(_arrow_columns(described))))
        raise SchemaError(f"columns are those of a Spark, Arrow or pandas table, not of {type(frame).__name__}")

    @classmethod
    def _of_pairs(cls, pairs: list[tuple[Path, Column]]) -> Columns:
        made = cls(dict(pairs))
        counted = Counter(path for path, _ in pairs)
        made.repeated = next((".".join(path) for path, count in counted.items() if count > 1), None)
        return made

    def __getitem__(self, name: str) -> Column:
        return self._by_path[self._paths[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def path_of(self, name: str) -> Path:
        """Where the column of this name is: of one part if it is flat."""
        return self._paths[name]

    def place_of(self, path: Path) -> Path | None:
        """Where the column is that a filter reaches by this path, flat or nested; None if there is none."""
        flat = (".".join(path),)
        return flat if flat in self._by_path else path if path in self._by_path else None

    def at(self, path: Path) -> Column | None:
        """The column that a filter reaches by this path."""
        place = self.place_of(path)
        return None if place is None else self._by_path[place]

    def check(self, demands: Iterable[Demand]) -> None:
        """Raises FilterTypeError for the first demand that no row can meet."""
        for demand in demands:
            reason = self.misfit(demand)
            if reason is not None:
                raise FilterTypeError(reason)

    def misfit(self, demand: Demand) -> str | None:
        """Why these columns cannot answer, as text; None where they can."""
        known: tuple[str, Column, Kind] | None = None
        for path in demand.paths:
            name, column = ".".join(path), self.at(path)
            if column is None:
                return self._missing(path)
            if not demand.compared or column.type == _ANY:
                continue
            kind = column.kind
            if kind is None:
                return f"'{name}' is of type {column.shown}, which compares with nothing; only IS [NOT] NULL asks of it"
            if demand.kind is not None and kind is not demand.kind:
                if demand.like:
                    return f"'{name}' is of type {column.shown}, but LIKE wants a column of strings"
                return _unlike(name, column, kind, demand.kind)
            if known is not None and kind is not known[2]:
                other, before = known[:2]
                return f"'{other}' is of type {before.shown} and '{name}' of type {column.shown}, which do not compare"
            known = name, column, kind
        return None

    def _missing(self, path: Path) -> str:
        name = ".".join(path)
        said = f"the events have no column '{name}'"
        if name in self._paths:
            return said + elsewhere(self._paths[name])
        if same_but_for_case(name, self._paths) is not None:
            return f"{said}{did_you_mean(name, self._paths)} in filters"
        for count in range(len(path) - 1, 0, -1):
            within = self.at(path[:count])
            if within is not None and within.shown != "struct":
                reached = ".".join(path[:count])
                return f"{said}: '{reached}' is of type {within.shown}, and filters reach into structs only"
            if within is not None:
                break
        return f"{said}{did_you_mean(name, self._paths)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """How a message ends about a column that is not there: with the nearest name, or the first of those there are."""
    name, names = str(name), list(known)  # a name may be any object
    same = same_but_for_case(name, names)
    if same is not None:
        return f"; did you mean '{same}'? Upper and lower case differ"
    nearest = get_close_matches(name, names, 1)
    if nearest:
        return f"; did you mean '{nearest[0]}'?"
    return f"; they have {', '.join(names[:_SHOWN]) or 'none'}{', …' if len(names) > _SHOWN else ''}"


def same_but_for_case(name: str, known: Iterable[str]) -> str | None:
    """The name that differs in upper and lower case only."""
    return next((each for each in known if each.casefold() == name.casefold()), None)


def elsewhere(path: Path) -> str:
    """How a field inside a struct is written, for someone who put its dots in backquotes."""
    return f"; write {to_sql(Reference(path))} for the field inside the struct: in backquotes a dot is part of the name"


def _unlike(name: str, column: Column, kind: Kind, wanted: Kind) -> str:
    said = f"'{name}' is of type {column.shown}, which does not compare with a {wanted.value}"
    if {kind, wanted} == {Kind.TIMESTAMP, Kind.STRING}:
        return said + "; write TIMESTAMP before the string" * (kind is Kind.TIMESTAMP)
    if (kind, wanted) == (Kind.NUMBER, Kind.STRING):
        return said + "; numbers are written without quotes"
    if (kind, wanted) == (Kind.STRING, Kind.NUMBER):
        return said + "; strings are written in quotes"
    return said


# -- how tables describe themselves ------------------------------------------------------------------

Described = Iterator[tuple[str, Column, Any]]  # a name, its column, and what describes the fields inside


def _pathed(columns: Described, prefix: Path = ()) -> Iterator[tuple[Path, Column]]:
    """All paths, those of columns before those of the fields inside them."""
    nested: list[tuple[Path, Column]] = []
    for name, column, fields in columns:
        path = (*prefix, name)
        yield path, column
        if fields is not None:
            nested += _pathed(fields, path)
    yield from nested


def _spark_columns(described: Any) -> Described:
    """From the JSON form of a StructType."""
    for field in described["fields"]:
        kind = field["type"]
        if isinstance(kind, str):
            yield field["name"], Column(_SPARK_TYPES.get(re.split(r"[ (]", kind)[0], _OTHER), kind), None
        else:
            inside = _spark_columns(kind) if kind["type"] == "struct" else None
            yield field["name"], Column(_OTHER, kind["type"]), inside


def _arrow_columns(described: Any) -> Described:
    """From an Arrow schema or a type of structs."""
    for field in described:
        kind = field.type
        while re.match(r"dictionary<|run_end_encoded<", str(kind)):
            kind = kind.value_type
        shown = str(kind)
        base = re.split(r"[\[(<]", shown)[0]
        if base == "struct":
            yield field.name, Column(_OTHER, "struct"), _arrow_columns(kind)
        else:
            whole = "extension<arrow.uuid>" if shown.startswith("extension<arrow.uuid") else base
            yield field.name, Column(_ARROW_TYPES.get(whole, _OTHER), shown), None
