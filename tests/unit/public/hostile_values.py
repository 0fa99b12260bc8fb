"""Values that people hand in by mistake, and some that nobody would: each made anew for each call."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa


class Unprintable:
    """An object about which not even a message can be written."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Text(str):
    """Text of a class of its own."""


def nested_list() -> object:
    found: list[object] = []
    for _ in range(1_000):
        found = [found]
    return found


def nested_dict() -> object:
    found: dict[str, object] = {}
    for _ in range(1_000):
        found = {"price": found}
    return found


HOSTILE: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "True": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "two to the 63": lambda: 2**63,
    "integer of 5,000 digits": lambda: 10**5_000,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "minus inf": lambda: -math.inf,
    "complex": lambda: 1j,
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(10**400, 3),
    "empty text": lambda: "",
    "NUL": lambda: "\0",
    "half a surrogate pair": lambda: "\ud800",
    "a megabyte of text": lambda: "x" * 1_000_000,
    "a megabyte of brackets": lambda: "(" * 1_000_000,
    "class of text": lambda: Text("price < 5"),
    "NumPy text": lambda: np.str_("price < 5"),
    "array without dimensions": lambda: np.array(5),
    "bytes": lambda: b"\xff\x00",
    "bytearray": lambda: bytearray(b"{}"),
    "memoryview": lambda: memoryview(b"abcdef")[::2],
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "list of None": lambda: [None],
    "list of lists": lambda: [[1], [2, 3]],
    "dict of numbers": lambda: {1: 2, None: []},
    "dict of columns": lambda: {"price": [1, 2]},
    "nested list": nested_list,
    "nested dict": nested_dict,
    "generator": lambda: (each for each in (1, None)),
    "iterator of texts": lambda: iter(["price < 5", "price <"]),
    "range": lambda: range(3),
    "object": object,
    "unprintable": Unprintable,
    "class": lambda: int,
    "function": lambda: len,
    "module": lambda: math,
    "ellipsis": lambda: ...,
    "exception": lambda: ValueError("x"),
    "path": lambda: Path("/no/such/file"),
    "uuid": lambda: UUID(int=1),
    "date": lambda: date(2026, 1, 1),
    "naive datetime": lambda: datetime(2026, 1, 1),
    "datetime at the end of time": lambda: datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
    "datetime at the start of time": lambda: datetime.min.replace(tzinfo=UTC),
    "timedelta": lambda: timedelta.max,
    "numpy array": lambda: np.arange(3),
    "numpy objects": lambda: np.array([None, []], object),
    "numpy integer": lambda: np.int64(3),
    "numpy nan": lambda: np.float64("nan"),
    "numpy NaT": lambda: np.datetime64("NaT"),
    "numpy text": lambda: np.str_("price < 5"),
    "pandas frame": lambda: pd.DataFrame({"price": [1.0, None], "symbol": ["IBM", None]}),
    "pandas frame of objects": lambda: pd.DataFrame({"price": [1.0, "x"], "symbol": [object(), []]}),
    "pandas frame of numbered columns": lambda: pd.DataFrame([[1, 2]]),
    "pandas series": lambda: pd.Series({"price": 1.0}),
    "pandas NaT": lambda: pd.NaT,
    "pandas NA": lambda: pd.NA,
    "arrow table": lambda: pa.table({"price": [1.0, None]}),
    "arrow table without columns": lambda: pa.table({}),
    "arrow table of twins": lambda: pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["price", "price"]),
    "arrow batch": lambda: pa.record_batch({"price": [1.0]}),
    "arrow array": lambda: pa.array([1, None]),
    "arrow scalar": lambda: pa.scalar(1),
    "arrow buffer": lambda: pa.py_buffer(b"abc"),
    "arrow schema": lambda: pa.schema([("a", pa.int64())]),
}
