"""A JSON object from text, for events and subscriptions alike: one decoder, and one set of error messages."""

from __future__ import annotations

from typing import Any

import msgspec

from siftcast.model.errors import SiftcastError
from siftcast.model.showing import given

_decode = msgspec.json.Decoder().decode
_NAMES = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}


def decode_object(text: str | bytes, what: str, error: type[SiftcastError]) -> dict[str, Any]:
    """The members of an object; raises the error, in which `what` ("an event") is named, for anything else."""
    if not isinstance(text, str | bytes | bytearray):
        raise error(f"{what} is read from JSON text, not from {given(text)}")
    try:
        decoded = _decode(str.__str__(text) if isinstance(text, str) else text)
    except RecursionError:
        raise error("the JSON is nested too deeply") from None
    except (msgspec.DecodeError, ValueError) as problem:
        raise error(not_utf8(text) or f"not valid JSON: {_json_problem(text, str(problem))}") from None
    if not isinstance(decoded, dict):
        raise error(f"{what} must be a JSON object, not {_NAMES[type(decoded)]}")
    return decoded


def not_utf8(text: str | bytes) -> str:
    """What is wrong with a text that is not UTF-8, and where; nothing if it is."""
    try:
        text.encode() if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as problem:
        return f"not valid UTF-8 (byte 0x{problem.object[problem.start]:02x} at {problem.start + 1})"
    except UnicodeEncodeError as problem:
        return f"not valid UTF-8 (half a surrogate pair at {problem.start + 1})"
    return ""


def _json_problem(text: str | bytes, problem: str) -> str:
    """What the decoder says, but for half a surrogate pair, which it calls truncated near the end of the text."""
    if "truncated" in problem:
        try:
            _decode((text.encode() if isinstance(text, str) else text) + b" " * 16)  # no longer near the end
        except msgspec.DecodeError as error:
            problem = str(error)
    if "surrogate" not in problem:
        return problem
    place = problem.rpartition(" (")[2].rstrip(")")
    return f"half a surrogate pair ({place}); escapes from \\ud800 to \\udfff are characters only two by two"
