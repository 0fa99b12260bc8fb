"""TOML files that people write: read into typed specs, with errors that name the file, the line and a remedy.

Whoever has such a file derives an error of its own from `TomlFileError` and reads with `read_text` and `parse_toml`.
"""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
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
        return _rebuild, (type(self), self.path, self.problem, self.key, self.line, self.remedy)


def _rebuild(
    kind: type[TomlFileError], path: str, problem: str, key: str, line: int | None, remedy: str
) -> TomlFileError:
    return kind(path, problem, key=key, line=line, remedy=remedy)


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
    """A text as the spec it must be; `otherwise` is the remedy where nothing better is known."""
    try:
        return msgspec.convert(tomllib.loads(text), kind)
    except tomllib.TOMLDecodeError as cause:
        found = re.search(r"at line (\d+)", str(cause))
        line = int(found[1]) if found else text.count("\n") + 1
        remedy = "the lines around it must be TOML: tables in [brackets], texts in quotes"
        raise error(path, f"is not TOML: {cause}", line=line, remedy=remedy) from None
    except msgspec.ValidationError as cause:
        problem, key, remedy = _named(str(cause), kind, example)
        # What is missing is told with the table that it is missing in, so there is no key to name.
        named = "" if "is missing in" in problem else key
        raise error(path, problem, key=named, line=line_of(text, key), remedy=remedy or otherwise) from None


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


def line_of(text: str, key: str) -> int | None:
    """The line in which a key stands: `workload.events`, or `schedule[1].do` for the second [[schedule]]."""
    table, _, name = key.rpartition(".")
    if not table or key.endswith("]") or re.search(rf"(?m)^\s*\[{re.escape(key)}\]", text):
        table, name = key, ""
    place = re.fullmatch(r"([\w.]+)\[(\d+)\]", table)
    header = re.escape(f"[[{place[1]}]]") if place else r"\[" + re.escape(table) + r"\]"
    skip = int(place[2]) if place else 0
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines, 1) if re.match(rf"\s*{header}", line)]
    if len(starts) <= skip:
        plain = (number for number, line in enumerate(lines, 1) if re.match(rf"\s*{re.escape(table)}\s*=", line))
        return next(plain, None)
    for number, line in enumerate(lines[starts[skip] :], starts[skip] + 1):
        if name and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return number
        if re.match(r"\s*\[", line):
            break
    return starts[skip]
