"""Messages and events come back from their bytes as they were, and bytes that hold none are refused."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import DataError, Event, EventError, Filter
from siftcast.overlays.conformance import FILTERS
from siftcast.overlays.contract import Message
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability import DURABLE_MESSAGES, Acknowledge, ControlRelay, Greet, Relay, Release
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.kyra import Entrust, Kyra, Notification
from siftcast.overlays.wire_events import decode_event, encode_event
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.overlays.wrapped import Wrapped

FORMAT_MESSAGES = (*Kyra.messages, *DURABLE_MESSAGES)
FORMAT = MessageCodec(FORMAT_MESSAGES)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=5) | moments
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
events = st.builds(
    Event, st.dictionaries(texts, values, max_size=4), texts, texts, st.none() | moments, st.binary(max_size=9)
)
entries = st.lists(st.tuples(texts, st.sampled_from(FILTERS).map(Filter.parse), st.integers(0, 99)), max_size=3).map(
    tuple
)
numbers = st.integers(0, 2**40)
publications = st.builds(
    Publication,
    events,
    st.integers(0, 99),
    st.integers(-3, 9),
    st.none() | st.lists(st.integers(0, 2**32 - 1), max_size=3).map(tuple),
    st.booleans(),
)
steering = st.builds(Announce, entries, st.integers(-1, 9), st.booleans()) | st.builds(
    Entrust, st.integers(0, 9), entries, st.booleans(), st.booleans()
)
carriers = publications | st.builds(Notification, events)
parcels = st.builds(Parcel, (carriers | steering).map(Wrapped), st.lists(st.integers(0, 99), max_size=3).map(tuple))
several = st.lists(numbers, max_size=3).map(tuple)
lineages = st.tuples(numbers, numbers)
runs = st.lists(lineages, max_size=3).map(tuple)
epochs = st.tuples(numbers, numbers, numbers, numbers)
messages: st.SearchStrategy[Message] = st.one_of(
    steering,
    parcels,
    st.builds(
        Relay,
        lineages,
        numbers,
        numbers,
        carriers | parcels,
        st.booleans(),
        st.none() | st.tuples(texts, numbers),
        st.booleans(),
    ),
    st.builds(Release, lineages, several),
    st.builds(ControlRelay, epochs, numbers, steering),
    st.builds(
        Acknowledge,
        lineages,
        lineages,
        lineages,
        numbers,
        runs,
        runs,
        epochs,
        numbers,
        lineages,
    ),
    st.builds(Greet, lineages, lineages, lineages, lineages, numbers, epochs, numbers),
)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    assert decode_event(encode_event(event)) == event


@given(messages)
def test_a_message_comes_back_as_it_was(message):
    assert FORMAT.decode(FORMAT.encode(message)) == message


@given(st.binary(max_size=40))
def test_bytes_that_hold_nothing_are_refused(data):
    # The few that do hold something say nothing here; any other error than DataError fails the test.
    assert refusal(decode_event, EventError, data).startswith(("not an event", ""))
    assert refusal(FORMAT.decode, DataError, data).startswith(("not a message of the scheme", ""))


def refusal(read, kind, data):
    try:
        read(data)
    except kind as error:
        return str(error)
    return ""


@given(messages, st.data())
def test_a_message_that_was_cut_short_is_refused(message, data):
    whole = FORMAT.encode(message)
    with pytest.raises(DataError):
        FORMAT.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(messages, st.lists(st.integers(0, 2**63 - 1), min_size=100, max_size=100, unique=True))
def test_messages_name_nodes_of_any_identity(message, identities):
    moved = renumbered(message, identities.__getitem__)
    assert FORMAT.decode(FORMAT.encode(moved)) == moved


def renumbered(message, to):
    """The message with every number of a node changed; which fields are numbers of nodes is known here, too."""
    if isinstance(message, Wrapped):
        return Wrapped(renumbered(message.open(), to))
    changed = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name == "content":
            value = renumbered(value, to)
        elif name == "origin":
            value = to(value)
        elif name == "destinations":
            value = tuple(map(to, value))
        elif name == "entries":
            value = tuple((id, filter_, to(node)) for id, filter_, node in value)
        changed[name] = value
    return type(message)(**changed)


def test_values_come_back_as_the_model_compares_them():
    zone = timezone(timedelta(hours=2))
    odd = Event(
        {
            "decimal": Decimal("1.5"),
            "date": date(2026, 1, 2),
            "naive": datetime(2026, 1, 2, 3),
            "aware": datetime(2026, 1, 2, 3, tzinfo=zone),
            "nested": {"whole": [2**70, -(2**64)]},
        }
    )
    assert decode_event(encode_event(odd)).attributes == {
        "decimal": 1.5,
        "date": datetime(2026, 1, 2, tzinfo=UTC),
        "naive": datetime(2026, 1, 2, 3, tzinfo=UTC),
        "aware": datetime(2026, 1, 2, 1, tzinfo=UTC),
        "nested": {"whole": [2**70, -(2**64)]},
    }


def test_what_cannot_be_kept_is_told_at_the_door():
    with pytest.raises(EventError, match="'e'"):
        encode_event(Event({"text": "\ud800"}, id="e"))
    with pytest.raises(EventError, match="'e'"):
        FORMAT.encode(Parcel(Wrapped(Notification(Event({"text": "\ud800"}, id="e"))), (1,)))


def test_messages_of_another_scheme_are_neither_written_nor_read():
    small = MessageCodec((Retract,))
    with pytest.raises(DataError, match="Announce"):
        small.encode(Announce(()))
    with pytest.raises(DataError, match="no message"):
        small.decode(b"\x92\xa4Mars\x90")


class Before(Message, frozen=True, gc=False):
    """A message as a version knew it."""

    name: str
    wanted: Filter


class Grown(Message, frozen=True, gc=False):
    """The same message a version later."""

    grown = 2

    name: str
    wanted: Filter
    first: float | None = None
    second: tuple[Filter, ...] = ()


class Holder(Message, frozen=True, gc=False):
    """A message that carries another."""

    content: Message


def test_a_message_that_has_grown_is_understood_by_the_version_before_and_understands_it() -> None:
    before, after = MessageCodec((Before, Holder)), MessageCodec((Grown, Holder))
    older = MessageCodec((Grown, Holder), for_older=True)
    wanted = Filter.parse("a < 1")

    def renamed(data: bytes) -> bytes:
        return data.replace(b"\xa5Grown", b"\xa6Before")

    plain, second = Grown("n", wanted), Grown("n", wanted, None, (wanted,))
    assert before.decode(renamed(after.encode(plain))) == Before("n", wanted)
    assert after.decode(before.encode(Before("n", wanted)).replace(b"\xa6Before", b"\xa5Grown")) == plain
    for message in (plain, Grown("n", wanted, 5.0), second, Grown("n", wanted, 5.0, (wanted,))):
        assert after.decode(after.encode(message)) == message
        assert before.decode(renamed(older.encode(message))) == Before("n", wanted)
        assert after.decode(older.encode(Holder(message))) == Holder(plain)
