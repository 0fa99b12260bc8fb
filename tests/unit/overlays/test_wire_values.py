"""Attributes without a form on a wire: the error says which, of what type, and what to do."""

from collections import UserDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from uuid import UUID

import msgspec
import numpy as np
import pytest

from siftcast.model import Event, EventError
from siftcast.overlays.wire_events import decode_event, encode_event, encode_fields

LATE = datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))


@dataclass
class Point:
    x: int = 1


class Record(msgspec.Struct):
    x: int = 1


class Odd(Enum):
    NOTHING = None
    PAIR = (1, 2)
    RAW = b"raw"


class Impostor(int):
    def __int__(self) -> int:
        raise TypeError("no number after all")


def refusal(attributes: dict[str, object], **fields: object) -> str:
    with pytest.raises(EventError) as caught:
        encode_event(Event(attributes, "e7", **fields))  # type: ignore[arg-type]
    message = str(caught.value)
    start = "the event 'e7' cannot be kept or sent: "
    assert message.startswith(start)
    return message[len(start) :]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1}, "is of type set; convert it: list(value)"),
        (frozenset(), "is of type frozenset; convert it: list(value)"),
        (range(3), "is of type range; convert it: list(value)"),
        (deque([1]), "is of type collections.deque; convert it: list(value)"),
        ((each for each in "ab"), "is of type generator; convert it: list(value)"),
        (1j, "is of type complex; convert it: [value.real, value.imag]"),
        (np.complex64(1), "is of type numpy.complex64; convert it: [value.real, value.imag]"),
        (np.array([1, 2]), "is of type numpy.ndarray; convert it: value.tolist()"),
        (np.timedelta64(5, "ns"), "is of type numpy.timedelta64; convert it: value / numpy.timedelta64(1, 's')"),
        (np.datetime64("2024-05-01"), "numpy.datetime64; convert it: value.astype('datetime64[us]').item()"),
        (timedelta(1), "is of type datetime.timedelta; convert it: value.total_seconds()"),
        (time(1), "is of type datetime.time; convert it: value.isoformat()"),
        (LATE, "is of type datetime.datetime; it must lie in the years 1 to 9999 in UTC"),
        (Decimal("sNaN"), "is of type decimal.Decimal; a signalling NaN must be a quiet one, or None"),
        (Fraction(10**400), "is of type fractions.Fraction; it is beyond all floats; convert it: str(value)"),
        (Point(), "test_wire_values.Point; convert it: dataclasses.asdict(value)"),
        (Record(), "test_wire_values.Record; convert it: msgspec.to_builtins(value)"),
        (Event({"a": 1}), "is of type siftcast.model.event.Event; convert it: value.attributes"),
        (Odd.NOTHING, "Odd; its member NOTHING has a value of type NoneType; convert it: value.value"),
        (Odd.PAIR, "Odd; its member PAIR has a value of type tuple; convert it: value.value"),
        (
            object(),
            "object; convert it to a number, a string, a boolean, a datetime, bytes, or a list or dict of these",
        ),
        (Point, "is of type type; convert it to a number"),
        (Impostor(1), "Impostor; convert it: [value.real, value.imag]"),
        ("\ud800", "holds half of a surrogate pair, which UTF-8 cannot write"),
        (-(10**5_000), "is a whole number of 16,610 bits, which is too long to be written out"),
    ],
    ids=lambda part: part[:40] if isinstance(part, str) and part.isascii() else "",
)
def test_a_value_without_a_form_is_refused_by_its_attribute_and_type(value: object, said: str) -> None:
    message = refusal({"fine": 1, "tags": value})
    assert message.startswith("attribute 'tags' ")
    assert said in message


def test_what_pandas_has_for_missing_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    assert refusal({"at": pandas.NaT}).endswith("NaTType; put None in its place")
    assert refusal({"at": [pandas.NA]}).endswith("NAType; put None in its place")
    assert refusal({"row": pandas.Series([1])}).endswith("Series; convert it: value.tolist()")
    assert decode_event(encode_event(Event({"at": pandas.Timestamp("2024-05-01 10:00+02:00")})))["at"] == datetime(
        2024, 5, 1, 8, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("attributes", "path"),
    [
        ({"order": {"items": [1, "two", {3}]}}, "order.items[2]"),
        ({"order": ({"lines": [[set()]]},)}, "order[0].lines[0][0]"),
        ({"a.b": {"not plain": {"in": {3}}}}, "`a.b`.`not plain`.`in`"),
        ({"order": UserDict({"x": MappingProxyType({"y": 1j})})}, "order.x.y"),
    ],
)
def test_the_path_to_a_nested_value_is_said(attributes: dict[str, object], path: str) -> None:
    assert refusal(attributes).startswith(f"attribute '{path}' is of type ")


def test_names_that_are_no_strings_are_refused_where_they_stand() -> None:
    assert refusal({5: 1}) == "the name 5 is of type int; convert it to a plain str"  # type: ignore[dict-item]
    nested = refusal({"a": {"b": {None: 1}}})
    assert nested == "in attribute 'a.b' the name None is of type NoneType; convert it to a plain str"
    assert refusal({"\ud800": 1}) == (
        r"the name of attribute '`\ud800`' holds half of a surrogate pair, which UTF-8 cannot write"
    )


def test_what_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert refusal({"a": endless}) == "its attributes are nested too deeply, or contain themselves"


def test_fields_without_a_form_are_refused_by_name() -> None:
    assert refusal({"a": 1}, time=LATE) == "its time leaves the years 1 to 9999 in UTC"
    assert refusal({"a": 1}, source="\ud800") == "its source holds half of a surrogate pair, which UTF-8 cannot write"
    with pytest.raises(EventError, match=r"^the event '\\udc00' cannot be kept or sent: its id holds half"):
        encode_fields("\udc00", {"a": 1})


def test_a_time_out_of_range_is_not_taken_for_a_long_number() -> None:
    assert refusal({"a": 2**70}, time=LATE) == "its time leaves the years 1 to 9999 in UTC"


def test_values_that_stand_for_plain_ones_come_back_as_these() -> None:
    order = UUID("12345678-1234-5678-1234-567812345678")
    held = {"uuid": order, "raw": [Odd.RAW, bytearray(b"a"), memoryview(b"b"), np.bytes_(b"c")], "nan": Decimal("NaN")}
    back = decode_event(encode_event(Event(held, "e"))).attributes
    assert back["uuid"] == str(order)
    assert back["raw"] == [b"raw", b"a", b"b", b"c"]
    assert back["nan"] != back["nan"]
    assert back["nan"] is not None
