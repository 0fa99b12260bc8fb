"""`siftcast explain`: why an event does or does not satisfy a filter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import explanation_tree, out
from siftcast.model import DataError, Event, EventError, Filter, Schema


def explain(
    filter: str,
    event: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    schema: Path | None = None,
    exit_code: Flag = False,
    json: Flag = False,
) -> int:
    """Show why an event does or does not satisfy a filter.

    Example: siftcast explain "symbol = 'IBM' AND price < 95" '{"symbol": "IBM", "price": 99}'

    Parameters
    ----------
    filter
        The filter, in SQL's words: comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT.
    event
        A file with one JSON object, - for standard input, or the object itself.
    schema
        A TOML file with the types of the attributes: turns ISO texts into timestamps, and checks the filter.
    exit_code
        Exit with 1 if the event does not match.
    json
        Print one line of JSON: {"match": true or false, "explanation": {"text", "verdict", "because", "parts"}}.
    """
    types = None if schema is None else Schema.load(schema)
    parsed = Filter.parse(filter)
    if types is not None:
        parsed.check(types)
    text, name = _read(event)
    try:
        found = Event.from_json(text, types)
    except EventError as error:
        raise EventError(f"{name}: {error}{_hint(text)}") from None
    explanation = parsed.explain(found)
    console = out()
    matched = explanation.verdict is True
    if json:
        answer = msgspec.json.encode({"match": matched, "explanation": explanation})
        console.print(Text(answer.decode()), soft_wrap=True)
    else:
        console.print(explanation_tree(explanation), soft_wrap=True)
        console.print("MATCH" if matched else "NO MATCH", style="bold green" if matched else "bold red")
    return OK if matched or not exit_code else REJECTED


def _read(event: str) -> tuple[bytes, str]:
    """The text of the event, and what to call it in a message."""
    if event.lstrip().startswith("{"):
        return event.encode("utf-8", "surrogateescape"), "the event"
    if event == "-":
        return sys.stdin.buffer.read(), "standard input"
    path = Path(event)
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path)
    except FileNotFoundError:
        raise DataError(
            f"{event}: there is no such file; the event is a file with a JSON object, - for standard input, "
            "or the object itself, as in '{\"price\": 99}'"
        ) from None


def _hint(text: bytes) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines):
        return f"; it holds {len(lines):,} events, one a line: pick one, as in: head -1 FILE | siftcast explain … -"
    return ""
