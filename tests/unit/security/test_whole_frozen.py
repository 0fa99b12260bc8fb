"""Bytes of events sealed whole that must stay as they are: what was sealed and kept is opened by later versions."""

import hashlib

import pytest

from siftcast.security.hazmat.groups import Groups, find_groups
from siftcast.security.hazmat.groups.arkworks import ArkworksGroups
from siftcast.security.hazmat.scheme.event_form import read_event
from siftcast.security.hazmat.scheme.scope import MESSAGE, PARAMETER, PUBLISHER, REQUEST, TAG
from siftcast.security.hazmat.secret import Secret
from siftcast.security.whole import KeyServer
from tests.unit.security.whole_world import CountedBytes, numbers, server


def short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


def made_with(groups: Groups) -> dict[str, str]:
    made = server(numbers(1), groups=groups)
    publisher = made.publisher_keys("a < 8")
    subscriber, router = made.subscriber_keys("a BETWEEN 4 AND 7"), made.search_keys("a = 6")
    request, word = made.connection_request(0, (b"0", b"1"), b"peer", 100)
    sealed = publisher.seal({"a": 6}, b"payload")
    event = read_event(sealed)
    assert subscriber.open(sealed).payload == b"payload"
    assert router.search(sealed)
    return {
        "points": short(made._points.opening + made._points.signing + made._points.binding + made._points.searching),
        "waters": short(made._points.waters),
        "label key": short(made._secrets.label_key.reveal()),
        "publisher": short(publisher._data),
        "subscriber": short(subscriber._data),
        "header": short(event.header),
        "commitment": short(event.commitment),
        "ciphertext": short(event.ciphertext),
        "request": short(b"".join((request.point, *request.slots, request.signature))),
        "answer": short(word.answer(b"t", b"peer", b"parent")),
    }


FROZEN = {
    "points": "c424a165eca6f5007b432967",
    "waters": "a06a59450c8231a198ea77ff",
    "label key": "8eb5145dfd5fb2cfd7678d0f",
    "publisher": "0b59e690125189206bfd783f",
    "subscriber": "b06b0849bbd5f47d943ed5f4",
    "header": "13e80b68cbc3f8339282a925",
    "commitment": "345fd8332aea1dfb01501081",
    "ciphertext": "02d1462b1d840a9a5204d865",
    "request": "a20a009e7b50074d5cc33479",
    "answer": "f96822633963d24d363a2e2b",
}
HASHES = {
    "tag": "508f7f01019acf900d25295a",
    "request": "622656b1b22de38f04d04660",
    "publisher": "623a05ee6a375eef3427f58b",
    "message": "0426bc4e45b7469287459df7",
    "parameter": "c2f361c135800e88f32e7916",
}


@pytest.mark.parametrize("groups", [find_groups(), ArkworksGroups()], ids=lambda each: type(each).__name__)
def test_keys_and_events_from_fixed_secrets_have_these_bytes_with_each_backend(groups: Groups) -> None:
    assert made_with(groups) == FROZEN


def test_each_use_of_hashing_has_a_tag_of_its_own() -> None:
    groups = find_groups()
    uses = {"tag": TAG, "request": REQUEST, "publisher": PUBLISHER, "message": MESSAGE, "parameter": PARAMETER}
    assert {name: short(groups.write2(groups.hash2(use, b"abc"))) for name, use in uses.items()} == HASHES


def test_seeds_go_forward_only() -> None:
    made = KeyServer(numbers(1), Secret(bytes(32)), Secret(bytes(32)), random=CountedBytes())
    seeds = [made._seed.reveal()]
    for _ in range(2):
        made.begin_epoch()
        seeds.append(made._seed.reveal())
    assert len(set(seeds)) == 3
    assert made.epoch == 3
    again = KeyServer(numbers(1), Secret(seeds[1]), Secret(bytes(32)), epoch=2, random=CountedBytes())
    again.begin_epoch()
    assert again._points == made._points
