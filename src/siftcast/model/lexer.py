"""Cuts the text of a SQL filter into tokens, and unescapes its string literals the way Spark does."""

from __future__ import annotations

import re

from siftcast.model.errors import FilterSyntaxError
from siftcast.model.unsupported import advice_on_character

KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "IS", "NULL", "TRUE", "FALSE"})

NUMBER, STRING, NAME, SYMBOL, END = "number", "string", "name", "symbol", "end"

# What starts no token takes the rest of the text with it: trying again at each later character would take
# quadratic time on a long unfinished string or number. Quoted texts give back nothing that they have taken (`++`), so
# that no stack grows with them.
_TOKEN = re.compile(
    r"""\s+
    | ((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z_0-9]))
    | ('(?:[^'\\]++|\\.|'')*+')
    | ([A-Za-z_][A-Za-z_0-9]*)
    | (`(?:[^`]++|``)++`)
    | (<=|>=|<>|!=|==|[=<>(),.\-+])
    | (.).*""",
    re.VERBOSE | re.DOTALL,
)


class Tokens:
    """A filter's tokens as two parallel lists, which is cheaper than an object for each.

    `kinds[i]` is NUMBER, STRING, NAME, SYMBOL, END or, for a reserved word, the word itself in capitals;
    `texts[i]` is the token as written, except that a quoted name is unquoted. Where a token stands is only
    asked when there is an error to report, and found out then.
    """

    __slots__ = ("kinds", "source", "texts")

    def __init__(self, source: str) -> None:
        """Raises FilterSyntaxError at the first character that starts no token."""
        self.source = source
        self.kinds = kinds = list[str]()
        self.texts = texts = list[str]()
        for number, string, name, quoted, symbol, unreadable in _TOKEN.findall(source):
            if name:
                capitals = name.upper()
                kinds.append(capitals if capitals in KEYWORDS else NAME)
                texts.append(name)
            elif symbol:
                kinds.append(SYMBOL)
                texts.append(symbol)
            elif number:
                kinds.append(NUMBER)
                texts.append(number)
            elif string:
                kinds.append(STRING)
                texts.append(string)
            elif quoted:
                kinds.append(NAME)
                texts.append(quoted[1:-1].replace("``", "`"))
            elif unreadable:
                raise _unreadable(source, self.offset(len(kinds)))
        kinds.append(END)
        texts.append("")

    def offset(self, index: int) -> int:
        """Where the token of this index starts in the source."""
        seen = -1
        for found in _TOKEN.finditer(self.source):
            seen += found.lastindex is not None
            if seen == index:
                return found.start()
        return len(self.source)


def _unreadable(source: str, position: int) -> FilterSyntaxError:
    character = source[position]
    if character == "'":
        return FilterSyntaxError("this string never ends", source, position, expected="a closing '")
    if character == '"':
        return FilterSyntaxError(
            "double quotes have no meaning here",
            source,
            position,
            expected="'…' around a string or `…` around a name",
        )
    if character == "`":
        return FilterSyntaxError("this quoted name is empty or never ends", source, position, expected="a `")
    if character in "0123456789.":
        return FilterSyntaxError(
            "this is neither a number nor a name",
            source,
            position,
            expected="a space after a number, or backquotes around a name that starts with a digit",
        )
    if character.isalpha():
        return FilterSyntaxError(
            f"a name with '{character}' must be quoted",
            source,
            position,
            expected="backquotes, as in `größe`",
        )
    advice = advice_on_character(source, position)
    if advice is not None:
        return FilterSyntaxError(advice[0], source, position, expected=advice[1])
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return FilterSyntaxError(f"'{shown}' has no meaning here", source, position)


_ESCAPE = re.compile(
    r"''|\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))",
    re.DOTALL,
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def unescape(quoted: str) -> str:
    """The value of a string literal; `\\%` and `\\_` keep their backslash, for LIKE. Raises ValueError."""
    return _ESCAPE.sub(_unescape_one, quoted[1:-1])


def _unescape_one(found: re.Match[str]) -> str:
    if found.group() == "''":
        return "'"
    short, long, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if octal is not None:
        return chr(int(octal, 8))
    if short is not None and len(short) > 4:  # the two halves of a character beyond U+FFFF, as UTF-16 has it
        return chr(0x10000 + ((int(short[:4], 16) & 0x3FF) << 10) + (int(short[6:], 16) & 0x3FF))
    code = int(short or long, 16)
    if code > 0x10FFFF:
        raise ValueError(f"\\U{long} is no character; the last one is \\U0010ffff")
    return chr(code)


def escape(value: str) -> str:
    """A string literal that reads back as `value`, here and in Spark."""
    if value.isprintable() and "\\" not in value and "'" not in value:
        return f"'{value}'"
    return "'" + "".join(map(_escape_one, value)) + "'"


def _escape_one(character: str) -> str:
    if character == "'":
        return "''"
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    # The second half of a surrogate pair is written long, or with a first half before it, it would be read as one.
    return f"\\u{code:04x}" if code < 0x10000 and not 0xDC00 <= code < 0xE000 else f"\\U{code:08x}"
