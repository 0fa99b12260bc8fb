"""Frames and what travels in them: everything comes back as it was, and nothing else is taken for it."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import DataError, Event, EventError, Filter
from siftcast.overlays.contract import Message
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.overlays.messages import Announce, Publication
from siftcast.overlays.protocols.kyra.messages import Entrust
from siftcast.overlays.wire_events import EventLimits, WireEvent, decode_event, encode_event
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.overlays.wrapped import Wrapped
from siftcast.runtimes.live.errors import FrameError
from siftcast.runtimes.live.wire import frames, node_frames
from siftcast.runtimes.live.wire.frames import (
    DELIVERY_HEAD_BYTES,
    VERSION,
    decode_frame,
    delivery_head,
    delivery_tail,
    encode_frame,
    publish_frame,
)
from siftcast.schemes import schemes
from tests.live.wire import frames_in

EVENT = Event({"symbol": "IBM", "price": 88.5, "deep": {"er": [1, None, True]}}, "e1", "desk", None, b"\x00payload")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.datetimes(timezones=st.just(UTC))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


def test_every_kind_of_frame_comes_back_as_it_was() -> None:
    raw = msgspec.Raw(encode_event(EVENT))
    samples: list[frames.Frame] = [
        frames.Hello(VERSION, "node", "a", "secret", "digest", "process", "b"),
        frames.Welcome(VERSION, "a", 5_000.0, 1, 2),
        frames.Failure(3, "refused", "no"),
        frames.Heartbeat(4, True),
        frames.Heartbeat(4, False, (1.5, -2.5, 0.5, 0.25)),
        frames.Publish(5, raw),
        frames.Published(6, 7),
        frames.Subscribe(8, 9, "x < 1", "desk-7", 10, 11, 12.0, QueuePolicy(events_max=13)),
        frames.Replace(10, 11, "x < 2"),
        frames.Unsubscribe(12, 13),
        frames.Subscribed(14),
        frames.Deliver(raw, (15, 16), 17),
        frames.Deliver(raw, (15,), age_ms=18.5),
        frames.Replace(10, 11, "x < 2", 50.0, 1_000.0),
        frames.BoundReported(15, 50.0, "missed", 1_000.0, 10, 9, 24.0, "a", "", 60.0, None),
        frames.Dropped(18),
        frames.AcknowledgeOffers(19, (20,)),
        frames.Reject(21, 22, "why"),
        frames.Describe(23),
        frames.Description(24, {"a": [1]}),
        frames.PeerMessage(raw),
        frames.Inquire(25, "reach", b"event"),
        frames.PeerQuestion("a.1", "trace", b"id", 3_000.0),
        frames.PeerAnswer("a.1", [{"node": "a"}]),
        frames.EndDurable(25, "desk-7"),
        frames.ReadDeadLetters(26, "desk-7", 27),
        frames.DeadLetters(28, [frames.Letter(29, 5, "why", raw)], True),
        frames.Expired(30, 31, "too old"),
        frames.Ended(32, "superseded", "gone"),
    ]
    introduced = (node_frames.Introduction(1, "a", "127.0.0.1:7007", 2),)
    samples += [
        node_frames.PeerMessage(raw, introduced),
        node_frames.Invitation(VERSION, "net", "digest", "gossip", {"a": 1}, None, True, 33, "seed", 5_000.0),
        node_frames.PeerMessage(raw, (), node_frames.Age(12.0, 3.0, 99.0, 8.0, 37, 38)),
        node_frames.AgesWanted(39, 40, 20_000.0),
        node_frames.Farewell(),
        node_frames.Forgotten((35, 36)),
        node_frames.Unneeded(),
        frames.Operate(34, "forget", "n1"),
    ]
    assert {type(sample) for sample in samples} == set(frames.Frame.__subclasses__())
    for sample in samples:
        data = encode_frame(sample)
        (back,) = frames_in(data)
        assert type(back) is type(sample)
        assert encode_frame(back) == data


class MessageOfVersion3(msgspec.Struct, array_like=True, tag=17):
    """What version 3 reads of a message between nodes."""

    message: msgspec.Raw
    introductions: tuple[node_frames.Introduction, ...] = ()


def test_version_3_reads_a_message_that_says_how_old_its_event_is() -> None:
    raw, introduced = msgspec.Raw(encode_event(EVENT)), (node_frames.Introduction(1, "a", "b", 2),)
    aged = node_frames.PeerMessage(raw, introduced, node_frames.Age(5.0, 1.0, 99.0))
    body = frames.encode_body(aged)
    old = msgspec.msgpack.decode(body, type=MessageOfVersion3)
    assert (bytes(old.message), old.introductions) == (bytes(raw), introduced)
    new = decode_frame(msgspec.msgpack.encode(old))
    assert isinstance(new, node_frames.PeerMessage)
    assert new.age is None


@given(st.integers(0, frames.SUBSCRIPTION_MAX), st.dictionaries(st.text(), scalars, max_size=4))
def test_a_delivery_put_together_from_parts_is_a_frame(number: int, attributes: dict[str, object]) -> None:
    encoded = encode_event(Event(attributes, "e"))
    tail, difference = delivery_tail(number)
    (frame,) = frames_in((delivery_head(encoded) ^ difference).to_bytes(DELIVERY_HEAD_BYTES, "big") + encoded + tail)
    assert isinstance(frame, frames.Deliver)
    assert (frame.subscriptions, bytes(frame.event)) == ((number,), encoded)


@given(st.integers(0, 2**32 - 1), st.dictionaries(st.text(), scalars, max_size=4))
def test_a_publish_put_together_from_parts_is_a_frame(number: int, attributes: dict[str, object]) -> None:
    encoded = encode_event(Event(attributes, "e"))
    for durable in (False, True):
        (frame,) = frames_in(publish_frame(number, encoded, durable=durable))
        assert isinstance(frame, frames.Publish)
        assert (frame.request, bytes(frame.event), frame.durable) == (number, encoded, durable)


@given(st.dictionaries(st.text(), scalars, max_size=4))
def test_a_message_put_together_from_parts_is_a_frame_that_introduces_nobody(attributes: dict[str, object]) -> None:
    encoded = encode_event(Event(attributes, "e"))
    (frame,) = frames_in(node_frames.peer_message_frame(encoded))
    assert isinstance(frame, node_frames.PeerMessage)
    assert (bytes(frame.message), frame.introductions) == (encoded, ())


@given(st.binary(max_size=60))
def test_bytes_that_are_no_frame_are_a_frame_error(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except FrameError:
        return
    assert isinstance(frame, frames.Frame)


@given(st.dictionaries(st.text(), values, max_size=5), st.text(), st.text(), st.binary())
def test_an_event_comes_back_as_it_was(attributes: dict[str, object], id: str, source: str, payload: bytes) -> None:
    event = Event(attributes, id, source, datetime(2024, 5, 1, tzinfo=UTC), payload)
    back = decode_event(encode_event(event))
    assert (back.attributes, back.id, back.source, back.time, back.payload) == (
        attributes, id, source, event.time, payload,
    )  # fmt: skip
    assert encode_event(back) is back.encoded


def test_a_timestamp_without_a_zone_is_sent_as_utc_and_still_matches() -> None:
    event = Event({"at": datetime(2024, 5, 1, 10, 30)}, "e", time=datetime(2024, 5, 1))
    wanted = Filter.parse("at = TIMESTAMP '2024-05-01 10:30:00'")
    back = decode_event(encode_event(event))
    assert wanted.matches(event)
    assert wanted.matches(back)
    assert back.time == datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "attributes",
    [{"s": "\ud800"}, {"a": {1: "x"}}, {"a": {"b": ["\ud800"]}}],
    ids=["half a character", "no name", "deep"],
)
def test_an_event_without_a_form_on_the_wire_is_refused(attributes: dict[str, object]) -> None:
    with pytest.raises(EventError):
        encode_event(Event(attributes, "e"))


def test_limits_of_events_are_held() -> None:
    limits = EventLimits(bytes_max=100, depth_max=3)
    nested = encode_event(Event({"a": {"b": {"c": 1}}}, "e"))
    with pytest.raises(EventError, match="nested more than 3"):
        decode_event(encode_event(Event({"a": {"b": {"c": {"d": 1}}}}, "e")), limits)
    with pytest.raises(EventError, match="limit is 100"):
        decode_event(encode_event(Event({"a": "x" * 100}, "e")), limits)
    assert decode_event(nested, limits)["a"] == {"b": {"c": 1}}


def same(one: object, other: object) -> bool:
    """Whether two messages say the same; events are compared by their bytes."""
    if isinstance(one, Event) and isinstance(other, Event):
        return encode_event(one) == encode_event(other)
    if isinstance(one, Message) and type(one) is type(other):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return one == other


@pytest.mark.parametrize(
    "message",
    [
        Announce((("s1", Filter.parse("x < 5 OR y LIKE 'a%'"), 3), ("s2", Filter.parse("TRUE"), 4)), 2, True),
        Publication(EVENT, 3, 1, (7, 8), True),
        Publication(EVENT, 3),
        Parcel(Wrapped(Publication(EVENT, 3)), (1, 2), 5),
        Parcel(Wrapped(Parcel(Wrapped(Entrust(1, (("p", Filter.parse("x = 1"), 2),), True)), (1,))), (4,)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_messages_of_schemes_come_back_as_they_were(message: Message) -> None:
    codec = MessageCodec((Announce, Publication, Parcel, Entrust), EventLimits())
    back = codec.decode(codec.encode(message))
    assert same(back, message)


def test_the_messages_of_all_schemes_have_a_form() -> None:
    from siftcast.overlays.protocols.broadcast import Broadcast
    from siftcast.overlays.protocols.filter_based import FilterBased
    from siftcast.overlays.protocols.kyra import Kyra
    from siftcast.overlays.protocols.layered import AnyLayers

    assert "kyra" in schemes()
    for protocol in (Broadcast, FilterBased, Kyra, AnyLayers):
        codec = MessageCodec(protocol.messages, EventLimits())
        for kind in protocol.messages:
            with pytest.raises(DataError):
                codec.decode(msgspec.msgpack.encode((protocol.messages.index(kind), [object.__name__])))


def test_an_event_in_a_message_keeps_its_bytes() -> None:
    codec = MessageCodec((Publication,), EventLimits())
    event = decode_event(encode_event(EVENT))
    back = codec.decode(codec.encode(Publication(event, 1)))
    assert isinstance(back, Publication)
    assert isinstance(back.event, WireEvent)
    assert back.event.encoded == event.encoded


@given(st.binary(max_size=80))
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    codec = MessageCodec((Announce, Publication, Parcel), EventLimits())
    try:
        message = codec.decode(data)
    except DataError:
        return
    assert isinstance(message, Message)
