"""Decoders of events, keys and requests under bytes that are not theirs: each refuses in its own words, none breaks."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.model import EventError
from siftcast.security import KeyRingError, SealError, UnopenedError
from siftcast.security.hazmat.groups import PointError
from siftcast.security.hazmat.scheme.event_form import read_event, read_inside
from siftcast.security.hazmat.scheme.requests import ConnectionRequest
from siftcast.security.whole import KeyServer, PublisherKeys, SearchKeys, SubscriberKeys
from siftcast.security.whole.body import read_body
from siftcast.security.whole.bundles import save_bytes
from tests.unit.security.whole_world import STOCKS, server

SERVER = server(STOCKS)
SUBSCRIBER, SEARCHER = SERVER.subscriber_keys("price < 8"), SERVER.search_keys("price < 8")
SEALED = SERVER.publisher_keys("TRUE").seal({"price": 3, "symbol": "IBM"}, b"payload")
REQUEST = SERVER.connection_request(0, (b"0",), b"peer", 100)[0]
BODY = STOCKS.write((3, "IBM", None)) + bytes(8) + bytes(36)


@st.composite
def damaged(draw, data):
    """Some bytes replaced, cut out or put in."""
    made = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(made)))
        made[at : at + draw(st.integers(0, 70))] = draw(st.binary(max_size=70))
    return bytes(made)


@given(damaged(SEALED) | st.binary(max_size=300) | st.binary(max_size=300).map(lambda data: SEALED[:5] + data))
def test_no_bytes_but_an_event_are_opened(data):
    if data == SEALED:
        return
    for read in (SUBSCRIBER.open, SUBSCRIBER.search, SEARCHER.search, read_event):
        try:
            found = read(data)
        except UnopenedError:
            continue
        assert read is not SUBSCRIBER.open
        assert isinstance(found, bool | tuple)


@given(st.binary(max_size=400), st.integers(0, 70))
def test_insides_and_bodies_are_read_or_refused(data, dimensions):
    try:
        assert read_inside(data, dimensions).aid == data[:16]
    except UnopenedError:
        assert len(data) < 224 + dimensions
    try:
        read_body(STOCKS, data)
        raise AssertionError("random bytes are no body")
    except UnopenedError:
        pass


@given(damaged(BODY))
def test_bodies_that_were_damaged_are_refused_or_say_what_a_schema_has(data):
    try:
        body = read_body(STOCKS, data)
    except UnopenedError:
        return
    assert [len(leaf) for leaf in body.leaves] == [each.depth for each in STOCKS.dimensions]


@settings(max_examples=25)
@given(st.data())
def test_keys_that_were_damaged_are_refused(data):
    for kind, keys in ((SubscriberKeys, SUBSCRIBER), (PublisherKeys, SERVER.publisher_keys("price = 1"))):
        given_bytes = data.draw(damaged(keys._data) | st.binary(max_size=200))
        if given_bytes != keys._data:
            with pytest.raises((KeyRingError, PointError)):
                kind(given_bytes, STOCKS, SERVER.public)
    with pytest.raises(KeyRingError):
        SearchKeys(data.draw(st.binary(max_size=200)), STOCKS, SERVER.public)


@settings(max_examples=25)
@given(st.binary(max_size=200))
def test_files_that_are_no_key_servers_are_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("keys") / "server.key"
    path.parent.chmod(0o700)
    save_bytes(data, path)
    with pytest.raises(KeyRingError):
        KeyServer.load(path, STOCKS)


@given(damaged(msgspec.msgpack.encode(REQUEST)))
def test_requests_that_were_damaged_are_refused(data):
    try:
        request = msgspec.msgpack.decode(data, type=ConnectionRequest)
    except msgspec.MsgspecError:
        return
    if request == REQUEST:
        return
    with pytest.raises(SealError):
        SUBSCRIBER.open_request(request, 0.0)


@given(damaged(BODY[: STOCKS.values_bytes]))
def test_values_that_were_damaged_are_refused_or_those_of_the_schema(data):
    try:
        assert STOCKS.write(STOCKS.read(data)) == data
    except EventError:
        assert data != BODY[: STOCKS.values_bytes]
