"""The attributes that filters name, as columns of a table of events: what a matcher is given, and no more.

A matcher looks an attribute up by its whole dotted name first, so a field inside a struct travels alone under that
name, and the rest of the struct stays with Spark. Unless another path has the same name: `o.city` written in backquotes
is a column only, and must not find the field `city` of `o`. Where filters ask for both, the struct travels under its
own name, with no more fields than that needs. Of a column that compares with nothing (a list, a map, bytes) filters can
only ask whether it is null: an empty list goes in its place, whatever it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import Columns
from siftcast.model.columns import Path

NOBODY = "\x00"  # the name of a column that no filter asks for


def find_attribute(events: t.StructType, path: Path) -> tuple[Column, t.DataType] | None:
    """The column of placed events that a path reaches, flat if there is one of its whole name, else nested."""
    name = ".".join(path)
    first, *rest = (name,) if name in events.names else path
    if first not in events.names:
        return None
    index = events.names.index(first)
    column, kind = fn.col(f"c{index}"), events[index].dataType
    for part in rest:
        # Spark takes upper and lower case as equal, so a name that is there in both is not to be had.
        if not isinstance(kind, t.StructType) or part not in kind.names:
            return None
        if [name.lower() for name in kind.names].count(part.lower()) > 1:
            return None
        column, kind = column.getField(part), kind[part].dataType
    return column, kind


def attribute_columns(events: t.StructType, attributes: Iterable[Path]) -> dict[str, Column]:
    """Columns of placed events by the names under which a matcher is to see them; at least one, so that rows count."""
    known = Columns.of(events)
    paths = dict.fromkeys(attributes)
    sharing = Counter(".".join(path) for path in paths)
    chosen: dict[str, Column] = {}
    inside: dict[str, list[Path]] = {}  # of structs that travel under their own names
    for path in paths:
        name, place, column = ".".join(path), known.place_of(path), known.at(path)
        if place is None or column is None:
            continue  # null in every row, as what a matcher is not shown
        if column.kind is None and column.shown == "void":
            if len(place) == 1:
                chosen[name] = fn.lit(None).cast("boolean")  # hides a field of this name all the same
            continue
        found = find_attribute(events, path)
        if found is None or (len(place) > 1 and sharing[name] > 1):
            inside.setdefault(path[0], []).append(path)
        else:
            chosen[name] = _asked(found[0], known, path)
    for first, fields in inside.items():
        column_of_structs = fn.col(f"c{events.names.index(first)}")
        reachable = all(find_attribute(events, path) is not None for path in fields)
        whole = (first,) in paths
        chosen[first] = _pruned(column_of_structs, known, (first,), fields, whole) if reachable else column_of_structs
    return chosen or {NOBODY: fn.lit(True)}


def _asked(column: Column, known: Columns, path: Path) -> Column:
    """A column as far as filters can ask of it: its values, or only whether there is one."""
    described = known.at(path)
    if described is not None and described.kind is not None:
        return column
    return fn.when(column.isNotNull(), fn.array().cast("array<boolean>"))


def _pruned(column: Column, known: Columns, prefix: Path, paths: list[Path], null: bool) -> Column:
    """A column of structs with the fields only that these paths reach, and `null` where it was if someone asks.

    Spark reads all fields of a struct of which it is asked whether it is null.
    """
    depth = len(prefix)
    fields = []
    for part in dict.fromkeys(path[depth] for path in paths):
        inner, reached = column.getField(part), (*prefix, part)
        deeper = [path for path in paths if path[depth] == part and len(path) > depth + 1]
        field = _pruned(inner, known, reached, deeper, reached in paths) if deeper else _asked(inner, known, reached)
        fields.append(field.alias(part))
    made = fn.struct(*fields)
    return fn.when(column.isNotNull(), made) if null else made
