"""What an application says about its events: the attributes in order, their types, domains and granularity.

A schema is optional for matching. With one, filters are checked when a subscription is added, strings in
JSON or CSV become timestamps and numbers, and partitioned schemes know the content space they divide.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import isinf
from numbers import Real
from pathlib import Path
from typing import Any

from siftcast.model.columns import KIND_OF_COLUMN, Columns
from siftcast.model.errors import EventError, SchemaError
from siftcast.model.intervals import Scale
from siftcast.model.showing import shown, shown_path
from siftcast.model.toml_files import line_of
from siftcast.model.values import Kind, Value, in_utc, is_iterable, kind_of, lookup, normalise, parse_timestamp

KIND_OF_ATTRIBUTE = KIND_OF_COLUMN
_FIELDS = {"name", "type", "domain", "granularity"}
_STEP_MIN = sys.float_info.min  # below it doubles lose digits, and a grid its places


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of the events of an application.

    `domain` is (low, high), both included, for numbers and timestamps, and the tuple of all values for
    strings. `granularity` is the distance between neighbouring numbers; for integers, 1 by default.
    """

    name: str
    type: str
    domain: tuple[Value, ...] | None = None
    granularity: int | float | None = None
    scale: Scale = field(init=False, repr=False, compare=False)
    """How its values are laid out, granularity included; a grid starts at the low end of the domain."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"an attribute needs a name, not {shown(self.name)}")
        if not isinstance(self.type, str) or self.type not in KIND_OF_ATTRIBUTE:
            known = ", ".join(KIND_OF_ATTRIBUTE)
            raise SchemaError(f"attribute {shown(self.name)}: type {shown(self.type)} is none of {known}")
        if self.domain is not None:
            if not isinstance(self.domain, tuple | list):
                raise SchemaError(f"attribute {shown(self.name)}: the domain is a tuple, not {shown(self.domain)}")
            object.__setattr__(self, "domain", self._checked_domain(tuple(self.domain)))
        self._check_granularity()
        object.__setattr__(self, "scale", self._laid_out())

    @property
    def kind(self) -> Kind:
        """The kind of values it compares with."""
        return KIND_OF_ATTRIBUTE[self.type]

    def _laid_out(self) -> Scale:
        step = self.granularity if self.granularity is not None else (1 if self.type == "int" else None)
        if step is None:
            return Scale(self.kind)
        origin = self.domain[0] if self.domain else 0
        return Scale(self.kind, Fraction(repr(step)), Fraction(repr(origin)))

    def _checked_domain(self, domain: tuple[object, ...]) -> tuple[Value, ...]:
        if self.type == "bool":
            raise SchemaError(f"attribute '{self.name}': a bool has no domain to state")
        values = tuple(self.coerce(value, check_domain=False) for value in domain)
        known = tuple(value for value in values if value is not None)
        if len(known) < len(values) or not known:
            raise SchemaError(f"attribute '{self.name}': the domain has an empty or null entry")
        if self.type == "string":
            if len(set(known)) < len(known):
                raise SchemaError(f"attribute '{self.name}': the domain lists a value twice")
        elif len(known) != 2 or known[0] > known[1]:  # type: ignore[operator]  # both of one kind
            raise SchemaError(f"attribute '{self.name}': the domain must be [low, high] with low <= high")
        elif any(isinstance(end, float) and isinf(end) for end in known):
            raise SchemaError(
                f"attribute '{self.name}': the domain must have finite ends, not [{known[0]}, {known[1]}]; "
                "state the least and the greatest value that occur, or no domain"
            )
        return known

    def _check_granularity(self) -> None:
        step = self.granularity
        if step is None:
            return
        if self.kind is not Kind.NUMBER:
            raise SchemaError(f"attribute '{self.name}': only numbers have a granularity")
        if isinstance(step, bool) or not isinstance(step, int | float) or not _STEP_MIN <= step < 2**63:
            raise SchemaError(
                f"attribute '{self.name}': granularity must be a positive number from {_STEP_MIN:.3g} to 2^63, "
                f"not {shown(step)}"
            )
        low, high = (end for end in self.domain or (0, 0) if isinstance(end, int | float))  # as those of numbers are
        width = high - low
        if 0 < width < step:  # a domain of a single value may have any
            raise SchemaError(
                f"attribute '{self.name}': granularity must be at most {width:g}, the width of the domain, "
                f"not {shown(step)}"
            )
        object.__setattr__(self, "granularity", normalise(step))  # a NumPy float does not print as a number

    def coerce(self, value: object, *, check_domain: bool = True) -> Value | None:
        """A value as this attribute holds it; reads ISO text into timestamps. Raises SchemaError."""
        if self.type == "timestamp" and isinstance(value, str):
            try:
                value = parse_timestamp(value)
            except ValueError as error:
                raise SchemaError(f"attribute '{self.name}': {shown(value)} is no timestamp ({error})") from None
        known = normalise(value)
        if known is None:
            if value is None or _is_nan(value):
                return None
            raise self._misfit(value)
        if kind_of(known) is not self.kind:
            raise self._misfit(value)
        if self.type == "int" and isinstance(known, float):
            if not known.is_integer():
                raise self._misfit(value)
            known = int(known)
        if self.type == "float" and isinstance(known, int):
            try:
                known = float(known)
            except OverflowError:
                raise self._misfit(value) from None
        if check_domain:
            self._check_in_domain(known)  # type: ignore[arg-type]
        return known  # type: ignore[return-value]

    def _check_in_domain(self, value: Value) -> None:
        if self.domain is None:
            return
        if self.type == "string":
            inside = value in self.domain
        else:
            inside = self.domain[0] <= value <= self.domain[1]  # type: ignore[operator]
        if not inside:
            raise SchemaError(f"attribute '{self.name}': {shown(value)} lies outside its domain")

    def _misfit(self, value: object) -> SchemaError:
        return misfit(self.name, self.type, value)


def misfit(name: str, type: str, value: object) -> SchemaError:
    """What to raise for a value of another type."""
    return SchemaError(f"attribute '{name}' is of type {type}, but the value is {shown(value)}")


def _is_nan(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling one may not be compared
    return isinstance(value, Real) and value != value


class Schema:
    """The attributes of an application, in order; immutable, compared by content.

    A table says which of its dotted names are columns and which are fields inside structs, so a schema `of` one refuses
    a filter with such a field in backquotes. One that was written down leaves that to the events.
    """

    __slots__ = ("_by_name", "_paths", "attributes", "name", "scales")

    def __init__(self, attributes: Sequence[Attribute], name: str = "") -> None:
        if isinstance(attributes, str | bytes) or not is_iterable(attributes):
            raise SchemaError(f"a schema is made of a list of attributes, not {shown(attributes)}")
        self.attributes = tuple(attributes)
        wrong = next((each for each in self.attributes if not isinstance(each, Attribute)), None)
        if wrong is not None or None in self.attributes:
            raise SchemaError(f"a schema is made of attributes: Attribute(name, type), not {shown(wrong)}")
        if not isinstance(name, str):
            raise SchemaError(f"the schema's name must be a string, not {shown(name)}")
        self.name = name
        self._by_name = {attribute.name: attribute for attribute in self.attributes}
        self._paths: dict[str, tuple[str, ...]] = {}  # of the fields inside structs, where a table told
        if len(self._by_name) < len(self.attributes):
            raise SchemaError("two attributes have the same name")
        self.scales = {tuple(attribute.name.split(".")): attribute.scale for attribute in self.attributes}

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Reads a schema from a TOML file."""
        if not isinstance(path, str | Path):
            raise SchemaError(f"a schema is loaded from the path of a TOML file, not {shown(path)}")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SchemaError(f"{path}: is not UTF-8 text") from None
        except OSError as error:
            raise SchemaError(f"{shown_path(path)}: cannot be read ({error.strerror})") from None
        except ValueError as error:  # a path with a NUL, or with half a surrogate pair
            raise SchemaError(f"{shown(str(path))} is no path ({error})") from None
        try:
            return cls.parse(text)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Reads a schema from TOML text: an optional `name` and one `[[attribute]]` table each."""
        if not isinstance(text, str):
            raise SchemaError(f"a schema is parsed from TOML text, not {shown(text)}")
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            told = str(error).replace("at end of document", f"at line {len(text.splitlines())}")
            raise SchemaError(f"not valid TOML: {told}") from None
        except ValueError as error:  # a number of thousands of digits
            raise SchemaError(f"not valid TOML: {error}") from None
        except RecursionError:
            raise SchemaError("not valid TOML: it nests too deeply") from None
        unknown = document.keys() - {"name", "attribute"}
        if unknown:
            raise SchemaError(f"unknown entry '{min(unknown)}'; a schema has 'name' and [[attribute]] tables")
        tables = document.get("attribute", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise SchemaError("attributes are written as [[attribute]] tables")
        name = document.get("name", "")
        if not isinstance(name, str):
            raise SchemaError("the schema's name must be a string")
        return cls([_attribute_at(text, number, table) for number, table in enumerate(tables)], name)

    @classmethod
    def of(cls, frame: object, name: str = "") -> Schema:
        """The attributes of a Spark, Arrow or pandas table, or of the schema of one; structs by their dotted fields.

        Whole numbers are `int`, other numbers and decimals `float`, dates and timestamps `timestamp`. Columns that
        compare with nothing (lists, maps, bytes) are not attributes.
        """
        known = Columns.of(frame)
        if known.repeated is not None:
            raise SchemaError(f"two columns of the table are named '{known.repeated}'; rename one of them")
        made = cls([Attribute(each, column.type) for each, column in known.items() if column.kind is not None], name)
        made._paths = {each: path for each in made.names if len(path := known.path_of(each)) > 1}
        return made

    def to_toml(self) -> str:
        """TOML text that `parse` reads back into an equal schema."""
        blocks = [f"name = {_toml(self.name)}\n"] if self.name else []
        for attribute in self.attributes:
            lines = ["[[attribute]]", f"name = {_toml(attribute.name)}", f"type = {_toml(attribute.type)}"]
            if attribute.domain is not None:
                lines.append(f"domain = [{', '.join(map(_toml, attribute.domain))}]")
            if attribute.granularity is not None:
                lines.append(f"granularity = {attribute.granularity!r}")
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def nested_path(self, name: str) -> tuple[str, ...] | None:
        """The only path to an attribute that is known to lie inside a struct, None for others."""
        return self._paths.get(name) if name in self else None

    def coerce(self, attributes: Mapping[str, object]) -> dict[str, object]:
        """An event's attributes with the types of the schema; attributes it does not know pass as they are."""
        if not isinstance(attributes, Mapping):
            raise EventError(f"the attributes of an event are a mapping, not {shown(attributes)}")
        coerced = dict(attributes)
        for name, attribute in self._by_name.items():
            path = (name,) if name in coerced else tuple(name.split("."))
            value = lookup(coerced, name, path)
            if value is None:
                continue
            if len(path) == 1:
                coerced[name] = attribute.coerce(value)
            else:
                coerced = _replaced(coerced, path, attribute.coerce(value))
        return coerced

    def __getitem__(self, name: str) -> Attribute:
        if name not in self:
            raise SchemaError(f"the schema has no attribute {shown(name)}; it has {', '.join(self.names)}")
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and (self.name, self.attributes) == (other.name, other.attributes)

    def __hash__(self) -> int:
        return hash((self.name, self.attributes))

    def __repr__(self) -> str:
        return f"Schema({list(self.attributes)!r}, {self.name!r})"


def checked_schema(schema: object) -> Schema:
    """The schema that was handed in; raises SchemaError for anything else."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"a schema is a Schema, as Schema.load(path) gives, not {shown(schema)}")
    return schema


def _replaced(attributes: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, object]:
    """A copy with another value at a path that exists; what nests around it is copied, never changed."""
    head, rest = path[0], path[1:]
    return {**attributes, head: _replaced(attributes[head], rest, value) if rest else value}


def _attribute_at(text: str, number: int, table: dict[str, Any]) -> Attribute:
    """The attribute of a table, which an error names with the line of the key it is about."""
    try:
        return _attribute(table)
    except SchemaError as error:
        message = str(error)
        about = next((key for key in ("granularity", "domain", "type") if key in message and key in table), "name")
        unknown = next((key for key in table if f"unknown entry '{key}'" in message), about)
        line = line_of(text, f"attribute[{number}].{unknown}")
        raise SchemaError(message if line is None else f"line {line}: {message}") from None


def _attribute(table: dict[str, Any]) -> Attribute:
    label = f"attribute '{table.get('name', '?')}'"
    unknown = table.keys() - _FIELDS
    if unknown:
        raise SchemaError(f"{label}: unknown entry '{min(unknown)}'; known are {', '.join(sorted(_FIELDS))}")
    for required in ("name", "type"):
        if not isinstance(table.get(required), str):
            raise SchemaError(f"{label}: '{required}' must be given as a string")
    domain = table.get("domain")
    if domain is not None and not isinstance(domain, list):
        raise SchemaError(f"{label}: 'domain' must be a list")
    return Attribute(table["name"], table["type"], None if domain is None else tuple(domain), table.get("granularity"))


def _toml(value: Value) -> str:
    if isinstance(value, datetime):
        return in_utc(value).isoformat()
    if isinstance(value, str):
        return _toml_string(value)
    return repr(value)


def _toml_string(text: str) -> str:
    plain = "".join(
        f"\\{character}" if character in '"\\' else character if character.isprintable() else f"\\U{ord(character):08x}"
        for character in text
    )
    return f'"{plain}"'
