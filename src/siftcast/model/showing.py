"""A value in a message: short, on one line, whatever it is.

What a user hands in by mistake may be anything: a list nested a thousand times, an integer of a million digits, a data
frame, an object whose `repr` raises. A message about it must not fail itself, nor fill the screen.
"""

from __future__ import annotations

import reprlib

_WIDTH = 60
_PATH_MAX = 1_000
_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother = 4, 4 * _WIDTH, 4 * _WIDTH


def shown(value: object) -> str:
    """A value as Python writes it, cut to about a line."""
    try:
        text = " ".join(_short.repr(value).split())
        text.encode()
    except UnicodeEncodeError:
        text = ascii(text)
    except Exception:  # whatever a foreign `repr` raises; an integer of more than 4,300 digits raises as well
        return "something that cannot be written out"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def given(value: object) -> str:
    """The same with its type: `5 (of type int)`."""
    return f"{shown(value)} (of type {type(value).__name__})"


def shown_path(path: object) -> str:
    """The path of a file, whole unless it cannot be one."""
    text = str(path)
    return text if len(text) <= _PATH_MAX and text.isprintable() else shown(text)
