"""Bytes that must stay as they are: what was sealed and kept is opened by later versions."""

import hashlib
from itertools import count
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from siftcast.security import KeyRing, Opener, Sealer
from siftcast.security.groups import Group, GroupPublisher
from siftcast.security.hazmat.derivation import EpochKey, hedged_salt
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.envelope import split_head
from siftcast.security.hazmat.padding import padded_length
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import SigningKey

GROUP_SECRET, SEED = Secret(bytes(range(32))), Secret(bytes(range(32, 64)))
GROUP = Group.begin("desk", GROUP_SECRET, 0.0).joined_by(GroupPublisher("feed", SigningKey(SEED).public))
PARTS = [(b"clear %d" % number, b"payload %d" % number) for number in range(3)]


def sealed_parts() -> list[bytes]:
    ring = KeyRing([GROUP], ("feed", SEED))
    ring._run = bytes(8), count(1)
    return Sealer(ring, random=bytes).seal("desk", PARTS, 0.0)


def test_an_encoding_is_injective_where_joining_is_not() -> None:
    assert enc(b"xsur", b"name") != enc(b"x", b"surname")
    assert enc(b"a", b"") == bytes.fromhex("00000001 61 00000000")


def test_the_key_and_its_commitment_are_those_of_hkdf() -> None:
    salt = bytes(range(16))
    info = enc(b"siftcast sealed payload 1: key", b"desk", bytes((0, 0, 0, 7))) + enc(salt)
    expected = HKDFExpand(SHA512(), 64, info).derive(GROUP_SECRET.reveal())
    key = EpochKey(GROUP_SECRET, b"desk", 7).batch_key(salt)
    assert key.commitment == expected[32:]
    assert key.commitment.hex() == VECTORS["commitment"]


def test_a_salt_is_frozen() -> None:
    assert hedged_salt(SEED, bytes(32), bytes(32)).hex() == VECTORS["salt"]


def test_sealed_bytes_are_frozen() -> None:
    sealed = sealed_parts()
    assert [len(each) for each in sealed] == VECTORS["lengths"]
    assert [hashlib.sha256(each).hexdigest() for each in sealed] == VECTORS["sealed"]
    assert sealed[0].hex().startswith(VECTORS["head"])
    assert [split_head(each)[1] for each in sealed] == [0, 1, 2]


def test_frozen_bytes_open() -> None:
    opener = Opener(KeyRing([GROUP]))
    kept = bytes.fromhex(VECTORS["event"])
    assert opener.open(PARTS[2][0], kept, 0.0, kept=True).payload == PARTS[2][1]


def test_classes_of_lengths_are_frozen() -> None:
    found = [padded_length(length) for length in (0, 32, 33, 100, 1_000, 1_025, 10_000, 1_000_000)]
    assert found == VECTORS["classes"]


VECTORS: dict[str, Any] = {
    "commitment": "ba1c63deed9ddef7405aa37be0191b0b76404f28aa9ecc2bba5e9d69d3a952dc",
    "salt": "34bb74a07301dc8a6106c7147c14a8fb",
    "lengths": [268, 268, 236],
    "sealed": [
        "da4897ef89c19c767cf92c1532132d578103b3caf2f5d05db638b9485a51d83f",
        "29c3a402f98145ce5a8ebfdea359876f0250fd344f3abc7ae89ae033ba92f5d5",
        "d7bcff780a64def8e72994ee53e2fd9ad386e9fa2d1a0381552f7c4f5bb38226",
    ],
    "head": "f553465401046465736b00000001a8205df7ce251e5271495ad816e38c015c",
    "event": (
        "f553465401046465736b00000001a8205df7ce251e5271495ad816e38c015c0f57fba1b262925e4ab7d64d3d6fafdf91240d"
        "1fed576df0aa17c36ef50f0a0002fb34281f77efcaf2884618b64bb24ae2999a20922542236ad3565c497696a06a699e03d1"
        "57c4e2f17a3dd134fdd615544fa288a0aca8ab481cf787cfad2b1a8824e36b0dec556ae7c982871a738c1781cd29c704f007"
        "d5af0bc366c7eb03d086a00d6e984d941f4e869dd629b5f8db5303783449068a65fef2503052c7693dde71d5c018a7a0ed41"
        "52adb4538438c4647177f13edd868a4e1e08dcf7d21540565869ffcef42140c2d79b1838"
    ),
    "classes": [32, 32, 36, 104, 1024, 1088, 10240, 1015808],
}
