"""The literals of one text: how each is read, and where the parser puts it."""

from __future__ import annotations

from siftcast.model.lexer import unescape
from siftcast.model.template import Hole
from siftcast.model.values import Kind, Value, parse_timestamp

INTEGER_MAX = 2**63 - 1


def read_number(raw: str, integer_max: int = INTEGER_MAX) -> int | float:
    """An integer of 64 bits or a finite float; raises ValueError beyond."""
    if "." in raw or "e" in raw or "E" in raw:
        number = float(raw)
        if number in (float("inf"), float("-inf")):
            raise ValueError("the number is too large for a float")
        return number
    digits = raw if len(raw) < 400 else raw.lstrip("0") or "0"  # `int` takes no text of thousands of digits
    integer = int(digits) if len(digits) < 400 else integer_max + 1
    if integer > integer_max:
        raise ValueError("the integer does not fit 64 bits; write it as a float, as in 1e19")
    return integer


def read_negative(raw: str) -> int | float:
    """The same with a minus sign before it: 64 bits reach one further down than up."""
    return -read_number(raw, INTEGER_MAX + 1)


class Literals:
    """The literals of one text as the parser meets them: as written, their types, and how they are to be read."""

    __slots__ = ("negative", "raws", "timestamps", "types", "values")

    def __init__(self) -> None:
        self.raws: list[str] = []
        self.values: list[Value] = []
        self.types: list[type] = []
        self.negative: list[int] = []
        self.timestamps: list[int] = []

    def add(self, raw: str, kind: Kind, negative: bool) -> Hole:
        """Reads a literal and gives it a hole; raises ValueError."""
        index = len(self.values)
        if kind is Kind.NUMBER:
            value: Value = read_negative(raw) if negative else read_number(raw)
            self.types.append(type(value))
            if negative:
                self.negative.append(index)
        else:
            value = unescape(raw)
            self.types.append(str)
            if kind is Kind.TIMESTAMP:
                value = parse_timestamp(value)
                self.timestamps.append(index)
        self.values.append(value)
        self.raws.append(raw)
        return Hole(index, kind)
