"""Sealed payloads under all that an event can hold, and all that may come in their place."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import EventError
from siftcast.overlays.clear_parts import clear_part, clear_part_of, with_payload
from siftcast.overlays.wire_events import decode_event, encode_fields
from siftcast.security import Opener, Sealer, UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.envelope import MAGIC
from siftcast.security.hazmat.padding import pad, padded_length, unpad
from tests.property.test_event_values import attributes
from tests.unit.security.made_rings import NOW_S, Desk

DESK = Desk()
SEALER, OPENER = Sealer(DESK.publisher()), Opener(DESK.member())
times = st.none() | st.datetimes(timezones=st.just(UTC))


@given(attributes, st.text(max_size=5), st.text(max_size=5), times, st.binary(max_size=300))
def test_the_clear_part_is_the_same_before_and_after_the_wire(facts, id, source, time, payload):
    try:
        clear = clear_part(id, facts, source, time)
    except EventError:
        return
    (sealed,) = SEALER.seal("desk", [(clear, payload)], NOW_S)
    encoded = with_payload(clear, sealed)
    assert encoded == encode_fields(id, facts, source, time, sealed)
    event = decode_event(encoded)
    assert clear_part_of(event.encoded, event.payload) == clear
    # Who encodes again what came over the wire gets the same bytes: numbers, NaN, zeros and times keep their form.
    assert clear_part(event.id, event.attributes, event.source, event.time) == clear
    assert OPENER.open(clear, event.payload, NOW_S, kept=False).payload == payload


def test_values_that_compare_as_equal_have_clear_parts_of_their_own():
    day = datetime(2026, 3, 1, tzinfo=UTC)
    alike = [
        0,
        0.0,
        -0.0,
        False,
        None,
        "",
        b"",
        [],
        {},
        math.nan,
        1,
        1.0,
        True,
        "1",
        [1],
        {"a": 1},
        day,
        day.timestamp(),
    ]
    assert len({clear_part("id", {"value": value}) for value in alike}) == len(alike)
    assert clear_part("a", {"b": 1}, "c") != clear_part("a", {"b": 1}, "", None)
    assert clear_part("ab", {}, "c") != clear_part("a", {}, "bc")


@given(attributes, st.binary(max_size=300), st.data())
def test_an_event_with_any_byte_altered_does_not_open(facts, payload, data):
    try:
        clear = clear_part("id", facts, "source")
    except EventError:
        return
    (sealed,) = SEALER.seal("desk", [(clear, payload)], NOW_S)
    altered = bytearray(with_payload(clear, sealed))
    altered[data.draw(st.integers(0, len(altered) - 1))] ^= data.draw(st.integers(1, 255))
    assert not opens(bytes(altered))
    assert opens(with_payload(clear, sealed))


def opens(encoded: bytes) -> bool:
    try:
        event = decode_event(encoded)
        return bool(OPENER.open(clear_part_of(encoded, event.payload), event.payload, NOW_S, kept=False))
    except (EventError, UnopenedError):
        return False


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda rest: MAGIC + b"\x01\x04desk\0\0\0\x01" + rest))
def test_whatever_is_opened_is_refused_by_an_error_of_ours(payload):
    with pytest.raises(UnopenedError) as caught:
        OPENER.open(b"clear", payload, NOW_S, kept=True)
    assert caught.value.reason in ("plain", "malformed", "no-key", "unknown-epoch", "altered")


@given(st.lists(st.binary(max_size=8), max_size=4), st.lists(st.binary(max_size=8), max_size=4))
def test_different_parts_have_different_encodings(parts, others):
    assert (enc(*parts) == enc(*others)) == (parts == others)


@given(st.binary(max_size=2_000))
def test_padding_is_taken_off_and_adds_an_eighth_at_most(payload):
    padded = pad(payload)
    assert unpad(padded) == payload
    assert len(padded) - 4 <= max(32, len(payload) * 1.12)


@given(st.integers(0, 10**9))
def test_lengths_have_classes_that_grow_with_them(length):
    assert length <= padded_length(length) <= padded_length(length + 1)
    assert padded_length(padded_length(length)) == padded_length(length)
