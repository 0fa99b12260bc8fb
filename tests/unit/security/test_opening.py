"""What is opened and what is not: an adversary per test, who has what the test says."""

import os
from dataclasses import replace

import pytest

from siftcast.security import KeyRing, Opener, Sealer, SealError
from siftcast.security.groups import Group, GroupPublisher
from siftcast.security.hazmat.derivation import COMMITMENT_BYTES, SALT_BYTES, BatchKey, EpochKey
from siftcast.security.hazmat.envelope import (
    leaf_of,
    read_head,
    read_inside,
    scope_of,
    split_head,
    who_of,
    write_head,
    write_inside,
    write_place,
)
from siftcast.security.hazmat.hash_tree import HashTree
from siftcast.security.hazmat.signatures import SigningKey
from tests.unit.security.made_rings import CLEAR, NOW_S, PAYLOAD, Desk, fresh, reason_of


def forged(desk: Desk, signing: SigningKey, publisher: bytes = b"feed", **changes: bytes) -> bytes:
    """What a member seals, who has the secret of the group and some signing key."""
    key = desk.group.newest
    scope = changes.get("scope", scope_of(b"desk", key.number))
    who = who_of(publisher, bytes(8), 1)
    leaf = leaf_of(changes.get("signed_scope", scope), who, changes.get("signed_clear", CLEAR), PAYLOAD)
    (proof,) = HashTree([leaf]).proofs(signing)
    batch = EpochKey(key.secret, b"desk", key.number).batch_key(bytes(SALT_BYTES))
    head = write_head(scope, bytes(SALT_BYTES), batch.commitment) + write_place(0)
    return head + batch.encrypt(0, write_inside(who, proof, PAYLOAD), head + CLEAR)


def test_what_is_sealed_opens_for_members_and_names_who_sealed_it() -> None:
    desk = Desk()
    opened = desk.open(desk.seal())
    assert (opened.payload, opened.publisher, opened.group, opened.epoch) == (PAYLOAD, "feed", "desk", 1)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 100, 101])
def test_what_is_sealed_together_opens_alone_and_in_any_order(count: int) -> None:
    desk = Desk()
    parts = [(b"clear %d" % number, b"payload %d" % number) for number in range(count)]
    sealed = Sealer(desk.publisher()).seal("desk", parts, NOW_S)
    opener = Opener(desk.member())
    for (clear, payload), each in reversed(list(zip(parts, sealed, strict=True))):
        assert opener.open(clear, each, NOW_S, kept=False).payload == payload
        assert desk.open(each, clear).payload == payload


def test_an_empty_payload_is_sealed_too() -> None:
    desk = Desk()
    assert desk.open(desk.seal(b"")).payload == b""


def test_any_bit_that_is_flipped_is_noticed() -> None:
    desk = Desk()
    sealed = desk.seal()
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1 << place % 8
        assert reason_of(lambda altered=bytes(altered): desk.open(altered)) != "opened", place


def test_what_is_cut_or_continued_is_refused() -> None:
    desk = Desk()
    sealed = desk.seal()
    assert all(reason_of(lambda stop=stop: desk.open(sealed[:stop])) != "opened" for stop in range(len(sealed)))
    assert reason_of(lambda: desk.open(sealed + b"\0")) == "altered"


def test_a_payload_is_not_opened_beside_another_clear_part() -> None:
    desk = Desk()
    first, second = Sealer(desk.publisher()).seal("desk", [(b"clear 1", b"one"), (b"clear 2", b"two")], NOW_S)
    assert reason_of(lambda: desk.open(first, b"clear 2")) == "altered"
    assert reason_of(lambda: desk.open(second, b"clear 1")) == "altered"
    assert desk.open(second, b"clear 2").payload == b"two"


def test_heads_and_insides_of_different_events_do_not_go_together() -> None:
    desk = Desk()
    for first, second in (
        Sealer(desk.publisher()).seal("desk", [(CLEAR, b"one"), (CLEAR, b"two")], NOW_S),  # under one key
        (desk.seal(b"one"), desk.seal(b"two")),
    ):
        _, _, end = split_head(first)
        assert reason_of(lambda first=first, second=second, end=end: desk.open(first[:end] + second[end:])) == "altered"


def test_another_group_of_the_same_name_has_other_keys() -> None:
    assert reason_of(lambda: Desk().open(Desk().seal())) == "altered"


def test_a_group_or_epoch_without_keys_is_named() -> None:
    desk = Desk()
    sealed = desk.seal()
    other = KeyRing([replace(desk.group, name="others")])
    assert reason_of(lambda: Opener(other).open(CLEAR, sealed, NOW_S, kept=False)) == "no-key"
    newer = Desk(desk.seed)
    newer.group = desk.group.rotated(fresh(), NOW_S)
    assert reason_of(lambda: desk.open(newer.seal())) == "unknown-epoch"


def test_an_event_cannot_be_said_to_be_of_another_epoch() -> None:
    desk = Desk()
    sealed = desk.seal()
    desk.group = desk.group.rotated(fresh(), NOW_S)
    head = read_head(split_head(sealed)[0])
    moved = sealed.replace(head.scope, scope_of(b"desk", 2), 1)
    assert reason_of(lambda: desk.open(moved)) == "altered"
    assert desk.open(sealed).payload == PAYLOAD


def test_a_member_cannot_seal_as_the_publisher() -> None:
    desk = Desk()
    assert desk.open(forged(desk, SigningKey(desk.seed))).payload == PAYLOAD  # the publisher itself can
    assert reason_of(lambda: desk.open(forged(desk, SigningKey(fresh())))) == "forged"


def test_a_member_who_is_no_publisher_cannot_seal_as_itself() -> None:
    desk = Desk()
    assert reason_of(lambda: desk.open(forged(desk, SigningKey(fresh()), b"mallory"))) == "unknown-publisher"


def test_a_publisher_cannot_seal_as_another() -> None:
    desk, second = Desk(), fresh()
    desk.group = desk.group.joined_by(GroupPublisher("second", SigningKey(second).public))
    assert reason_of(lambda: desk.open(forged(desk, SigningKey(second), b"feed"))) == "forged"
    assert desk.open(forged(desk, SigningKey(second), b"second")).publisher == "second"


@pytest.mark.parametrize("change", ["signed_clear", "signed_scope"])
def test_a_signature_for_another_event_group_or_epoch_is_none(change: str) -> None:
    desk = Desk()
    other = b"another event" if change == "signed_clear" else scope_of(b"board", 1)
    assert reason_of(lambda: desk.open(forged(desk, SigningKey(desk.seed), **{change: other}))) == "forged"


def test_a_ciphertext_with_two_keys_is_refused_by_the_commitment(monkeypatch: pytest.MonkeyPatch) -> None:
    """AES-GCM alone would let one who knows both keys make it: so it is taken to decrypt under any key here."""
    desk, other = Desk(), Desk()
    other.group = replace(other.group, publishers=desk.group.publishers)
    sealed = desk.seal()
    shared, place, end = split_head(sealed)
    head = read_head(shared)
    key = EpochKey(desk.group.newest.secret, b"desk", 1).batch_key(head.salt)
    inside = key.decrypt(place, sealed[end:], sealed[:end] + CLEAR)
    monkeypatch.setattr(BatchKey, "decrypt", lambda *_: inside)
    assert desk.open(sealed).payload == PAYLOAD
    assert reason_of(lambda: other.open(sealed)) == "altered"
    assert len(head.commitment) == COMMITMENT_BYTES


def test_a_plain_payload_is_never_taken_for_a_sealed_one() -> None:
    desk = Desk()
    assert reason_of(lambda: desk.open(PAYLOAD)) == "plain"
    assert reason_of(lambda: desk.open(b"")) == "plain"


def test_the_same_randomness_gives_other_keys_for_other_events() -> None:
    desk = Desk()
    ring = desk.publisher()
    broken = Sealer(ring, random=bytes)
    heads = {split_head(broken.seal("desk", [(CLEAR, b"%d" % number)], NOW_S)[0])[0] for number in range(50)}
    assert len(heads) == 50
    sealed = broken.seal("desk", [(CLEAR, bytes(64)), (CLEAR, bytes(64))], NOW_S)
    assert sealed[0][-80:-16] != sealed[1][-80:-16]  # one key, another nonce


def test_a_fork_does_not_give_the_numbers_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Desk().publisher()
    before = ring.next_numbers(2)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    after = ring.next_numbers(2)
    assert before[1] == after[1] == [1, 2]
    assert before[0] != after[0]


def test_the_epoch_before_passes_for_its_grace_and_in_durable_queues_for_good() -> None:
    desk = Desk()
    old = desk.seal()
    desk.group = desk.group.rotated(fresh(), NOW_S + 100, grace_s=50)
    assert desk.open(old, now_s=NOW_S + 149).epoch == 1
    assert reason_of(lambda: desk.open(old, now_s=NOW_S + 150)) == "stale-epoch"
    desk.group = desk.group.rotated(fresh(), NOW_S + 120, grace_s=50)
    assert reason_of(lambda: desk.open(old, now_s=NOW_S + 121)) == "stale-epoch"
    assert desk.open(old, now_s=NOW_S + 10**6, kept=True).payload == PAYLOAD
    desk.group = desk.group.rotated(fresh(), NOW_S + 130, keep=1)
    assert reason_of(lambda: desk.open(old, kept=True)) == "unknown-epoch"


def test_a_revoked_publisher_is_refused_from_its_epoch_on() -> None:
    desk = Desk()
    old = desk.seal()
    desk.group = desk.group.rotated(fresh(), NOW_S)
    new = desk.seal()
    desk.group = desk.group.revoked("feed", 2)
    assert desk.open(old).payload == PAYLOAD
    assert reason_of(lambda: desk.open(new)) == "revoked"
    with pytest.raises(SealError, match="is revoked"):
        desk.seal()
    desk.group = desk.group.revoked("feed", 1)
    assert reason_of(lambda: desk.open(old)) == "revoked"


@pytest.mark.parametrize("length", [0, 31, 32, 33, 200, 255, 256, 65_535, 65_536, 100_000])
def test_lengths_are_rounded_to_classes(length: int) -> None:
    desk = Desk()
    sealed = desk.seal(bytes(length))
    assert desk.open(sealed).payload == bytes(length)
    overhead = len(desk.seal(b"")) - 32
    assert length <= len(sealed) - overhead <= max(32, length * 1.12)


def test_events_that_differ_only_in_small_payloads_have_one_length() -> None:
    desk = Desk()
    assert len({len(desk.seal(b"x" * length)) for length in range(33)}) == 1


def test_malformed_insides_of_a_member_are_refused() -> None:
    desk = Desk()
    sealed = forged(desk, SigningKey(desk.seed))
    _, place, end = split_head(sealed)
    batch: BatchKey = EpochKey(desk.group.newest.secret, b"desk", 1).batch_key(bytes(SALT_BYTES))
    inside = batch.decrypt(place, sealed[end:], sealed[:end] + CLEAR)
    assert read_inside(inside).payload == PAYLOAD
    for altered in [inside[:stop] for stop in range(len(inside))] + [inside + b"\0", inside[:-1] + b"\1"]:
        again = sealed[:end] + batch.encrypt(place, altered, sealed[:end] + CLEAR)
        assert reason_of(lambda again=again: desk.open(again)) == "malformed"


@pytest.mark.parametrize(
    ("ring", "words"),
    [
        (KeyRing(), "it is empty"),
        (Desk().member(), "no signing key"),
        (KeyRing([Group.begin("desk", fresh(), NOW_S)], ("feed", fresh())), "no publisher of group"),
        (KeyRing([Desk().group], ("feed", fresh())), "no publisher of group"),
    ],
)
def test_who_cannot_seal_is_told_before_anything_is_sealed(ring: KeyRing, words: str) -> None:
    with pytest.raises(SealError, match=words):
        Sealer(ring).seal("desk", [(CLEAR, PAYLOAD)], NOW_S)
