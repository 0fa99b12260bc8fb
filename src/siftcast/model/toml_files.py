"""TOML files that people write: read into typed specs, with errors that name the file, the line and a remedy.

A module that reads such a file derives its own error from `TomlFileError` and calls `read_text` and `parse_toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from siftcast.model.errors import SiftcastError

T = TypeVar("T", bound=msgspec.Struct)


class TomlFileError(SiftcastError):
    """A file cannot be used; names the file, the line, the key, and what would be accepted."""

    code = "toml-file"

    def __init__(self, path: str, problem: str, *, key: str = "", line: int | None = None, remedy: str = "") -> None:
        self.path = path
        self.problem = problem
        self.key = key
        self.line = line
        self.remedy = remedy
        place = path if line is None else f"{path}, line {line}"
        name = f"{key}: " if key else ""
        super().__init__(f"{place}: {name}{problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), self.path, self.problem, key=self.key, line=self.line, remedy=self.remedy), ()


def read_text(path: str | Path, error: type[TomlFileError], example: str) -> str:
    """The text of a file; `example` is the command that prints one to start with."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise error(str(path), "is not UTF-8 text", remedy="it must be a TOML file") from None
    except OSError as cause:
        remedy = f"{example} prints one to start with"
        raise error(str(path), cause.strerror or str(cause), remedy=remedy) from None


def parse_toml(
    text: str, path: str, kind: type[T], error: type[TomlFileError], example: str, *, otherwise: str = ""
) -> T:
    """A text as the spec it must be; `otherwise` is the remedy where nothing better is known.

    TOML has infinities and NaN, which no key of ours means: a timer never fires at them, and a comparison with NaN is
    false whichever way it is asked. They are refused here, once for all keys, including those of a scheme's options.
    """
    try:
        read = tomllib.loads(text)
        for key, value in _leaves(read):
            if isinstance(value, float) and not isfinite(value):
                raise error(path, f"is {value}", key=key, line=line_of(text, key), remedy="write a finite number")
        return msgspec.convert(read, kind)
    except tomllib.TOMLDecodeError as cause:
        found = re.search(r"at line (\d+)", str(cause))
        line = int(found[1]) if found else text.count("\n") + 1
        remedy = "the lines around it must be TOML: tables in [brackets], texts in quotes"
        raise error(path, f"is not TOML: {cause}", line=line, remedy=remedy) from None
    except RecursionError:
        raise error(path, "nests too deeply", remedy="brackets within brackets, a few levels at most") from None
    except msgspec.ValidationError as cause:
        problem, key, remedy = _named(str(cause), kind, example)
        # A missing key is reported with its table, so there is no key to name.
        named = "" if "is missing in" in problem else key
        raise error(path, problem, key=named, line=line_of(text, key), remedy=remedy or otherwise) from None
    except ValueError as cause:  # a number of thousands of digits, which comes without a position
        remedy = "write numbers of at most 18 digits"
        raise error(path, f"is not TOML: {cause}", line=_line_of_digits(text), remedy=remedy) from None


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """All values that are not tables or lists themselves, with their keys as errors name them."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{key}[{number}]")
    else:
        yield key, value


def _line_of_digits(text: str) -> int | None:
    found = re.search(r"[\d_]{1000,}", text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def _named(message: str, kind: type[msgspec.Struct], example: str) -> tuple[str, str, str]:
    """What msgspec found, in words of the file: problem, key (`$.node.listen` is node.listen) and remedy."""
    problem, _, place = message.partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `([^`]+)`", problem)
    if unknown:
        known = _fields(kind, key)
        nearest = get_close_matches(unknown[1], known, 1)
        remedy = (f"did you mean '{nearest[0]}'? " if nearest else "") + f"known here: {', '.join(known)}"
        return "is not a known key", f"{key}.{unknown[1]}".lstrip("."), remedy
    missing = re.search(r"missing required field `([^`]+)`", problem)
    if missing:
        remedy = f"add '{missing[1]}'; {example} prints a whole file"
        return f"'{missing[1]}' is missing in {key or 'the file'}", key, remedy
    return problem.replace("`", "'"), key, ""


def _fields(kind: Any, table: str) -> tuple[str, ...]:
    """The keys of a table, found by its way through the types of the spec."""
    for part in re.sub(r"\[[^\]]*\]", "", table).split("."):
        if part:
            hint = get_type_hints(kind)[part]
            kind = next(
                each for each in (hint, *get_args(hint)) if isinstance(each, type) and issubclass(each, msgspec.Struct)
            )
    return tuple(kind.__struct_fields__)


def named_option(table: str, options: Iterable[str], message: str) -> str:
    """The key of the option that a message names, in quotes or as a word; that of the table, if it names none."""
    names = sorted(options, key=lambda name: (f"'{name}'" not in message, name))
    found = next((name for name in names if re.search(rf"\b{re.escape(name)}\b", message)), None)
    return table if found is None else f"{table}.{found}"


def line_of(text: str, key: str) -> int | None:
    """The line in which a key stands: `workload.events`, or `schedule[1].do` for the second [[schedule]].

    A key that is not on a line of its own, as one within an inline table, is found where what holds it begins.
    """
    lines = text.splitlines()
    while key:
        line = _line_of_exactly(lines, key)
        if line is not None:
            return line
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return None


def _line_of_exactly(lines: list[str], key: str) -> int | None:
    """The line that begins with the key, in its table or dotted in one further up, or with the header of it as a table.

    Tables are looked for from the outermost inwards, each within the lines of the one around it: a key of an array of
    tables lies between its own [[header]] and the next of them.
    """
    first, last = 0, len(lines)
    path = ""
    for part in key.split("."):
        name, _, number = part.rstrip("]").partition("[")
        dotted = f"{path}.{name}".lstrip(".")
        rest = re.escape(key.removeprefix(path).lstrip("."))
        for at in range(first, last):
            if re.match(r"\s*\[", lines[at]) and (at > first or not path):
                break  # keys behind the next header are those of another table
            if re.match(rf"\s*{rest}\s*=", lines[at]):
                return at + 1
        header = re.escape(f"[[{_plain(dotted)}]]") if number else r"\[" + re.escape(_plain(dotted)) + r"\]"
        starts = [at for at in range(first, last) if re.match(rf"\s*{header}", lines[at])]
        if number:
            if not number.isdecimal() or len(starts) <= int(number):
                return None
            starts = [*starts, last]
            first, last = starts[int(number)], starts[int(number) + 1]
        elif starts:
            first = starts[0]
        elif dotted == _plain(key):
            return None
        path = f"{path}.{part}".lstrip(".")
    return first + 1


def _plain(key: str) -> str:
    """A key without the numbers of its arrays, as it stands in a header."""
    return re.sub(r"\[[^\]]*\]", "", key)
