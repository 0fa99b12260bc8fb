"""Each attack succeeds against the scheme that its row names, and fails against the one that is used."""

import hashlib
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag

from siftcast.experiments.security import attacks
from siftcast.experiments.security.component_signatures import (
    Claim,
    Components,
    sign_components,
    verify_combined,
    verify_one_by_one,
    verify_product,
)
from siftcast.experiments.security.linear import PRIME, affine_combination, is_in_span
from siftcast.experiments.security.printed import PrintedScheme, prefixes
from siftcast.experiments.security.symmetric import GENERATOR
from siftcast.experiments.security.variants import LinearHash, encrypt_checked, printed_request, request_of_words
from siftcast.model import Attribute, Schema, SchemaError
from siftcast.security import Replays, UnopenedError
from siftcast.security.credentials import CredentialSchema, Text
from siftcast.security.hazmat.derivation import BatchKey
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G2, ORDER, CountedGroups, find_groups
from siftcast.security.hazmat.scheme.encryption import decrypt_key, tag_context, tag_of
from siftcast.security.hazmat.scheme.epoch import VerifyingEpoch
from siftcast.security.hazmat.scheme.event_form import (
    EventInside,
    Signature,
    header_hash,
    read_event,
    read_inside,
    write_inside,
)
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.requests import _slot_key
from siftcast.security.hazmat.scheme.scope import MESSAGE, REQUEST, TAG
from siftcast.security.hazmat.scheme.scope import PUBLISHER as PUBLISHER_HASH
from siftcast.security.hazmat.scheme.signing import SignatureVerifier, message_point
from siftcast.security.hazmat.scheme.waters import WatersHash, exponent_of
from siftcast.security.hazmat.secret import Secret
from siftcast.security.whole.bundles import PublisherBundle, SubscriberBundle, read_bundle
from tests.unit.security.whole_world import numbers, server

MESSAGE_TEXT = b"temperature alert"
PRINTED = PrintedScheme(Random(5), bits=40)
KEY_A, KEY_B = PRINTED.publisher_key("01", "A"), PRINTED.publisher_key("1", "B")
PRINTED_EVENT = PRINTED.encrypt(MESSAGE_TEXT, {"A": "0110", "B": "1011"}, {"A": ("01", KEY_A), "B": ("1", KEY_B)})

GROUPS = find_groups()
OURS = server(numbers(2))
SCOPE, SECRETS = OURS._secrets.scope, OURS._secrets
PUBLISHER = OURS.publisher_keys("a BETWEEN 4 AND 7")
BUNDLE = read_bundle(PUBLISHER._data, PublisherBundle, OURS.schema, OURS.public)
SEALED = PUBLISHER.seal({"a": 6, "b": 11}, MESSAGE_TEXT)
EVENT = read_event(SEALED)
READER = OURS.subscriber_keys("a = 6")
LEAF = OURS.schema.leaves((6, 11))


def label(dimension: int, length: int) -> bytes:
    """What a publisher knows a level by: the label key is its own."""
    return SCOPE.subscriber_label(SECRETS.label_key, dimension, LEAF[dimension][:length])


def inside_of(sealed: bytes) -> tuple[EventInside, bytes]:
    """What an entitled subscriber finds in an event."""
    event = read_event(sealed)
    return read_inside(READER._decrypt(event)[1], 2), header_hash(event.header)


# -- the printed formulas --------------------------------------------------------------------------------


def test_the_printed_formulas_hold_but_for_the_combined_verification() -> None:
    key = PRINTED.subscriber_key({"A": "01", "B": "101"})
    assert PRINTED.decrypt(PRINTED_EVENT, key) == MESSAGE_TEXT
    assert PRINTED.decrypt(PRINTED_EVENT, PRINTED.subscriber_key({"A": "01", "B": "100"})) is None
    assert PRINTED.search(PRINTED_EVENT, key.searching["A"], "A", 2)
    assert not PRINTED.search(PRINTED_EVENT, key.searching["B"], "A", 2)
    assert PRINTED.verify_one(PRINTED_EVENT, MESSAGE_TEXT, "A")
    assert not PRINTED.verify_one(PRINTED_EVENT, b"another", "A")
    assert PRINTED.verify_product(PRINTED_EVENT, MESSAGE_TEXT)
    assert not PRINTED.verify_combined(PRINTED_EVENT, MESSAGE_TEXT)
    single = PRINTED.encrypt(MESSAGE_TEXT, {"A": "01"}, {"A": ("01", KEY_A)})
    assert PRINTED.verify_combined(single, MESSAGE_TEXT)


def test_one_gamma_for_all_does_not_mend_the_combined_verification() -> None:
    keys = {"A": ("01", PRINTED.publisher_key("01", "A", 7)), "B": ("1", PRINTED.publisher_key("1", "B", 7))}
    event = PRINTED.encrypt(MESSAGE_TEXT, {"A": "0110", "B": "1011"}, keys)
    assert PRINTED.verify_product(event, MESSAGE_TEXT)
    assert not PRINTED.verify_combined(event, MESSAGE_TEXT)


# -- A2: signatures --------------------------------------------------------------------------------------


def test_a2_the_product_check_lets_one_credential_pass_for_any() -> None:
    forged = attacks.claim_more(PRINTED, KEY_A, {"A": "01", "B": "0", "C": "1"}, b"forged")
    assert PRINTED.verify_product(forged, b"forged")
    assert not PRINTED.verify_one(forged, b"forged", "A")
    assert not PRINTED.verify_one(forged, b"forged", "B")


def test_a2_the_product_check_lets_observers_extend_and_shift_signatures() -> None:
    assert PRINTED.verify_product(attacks.extend_signature(PRINTED, PRINTED_EVENT, MESSAGE_TEXT), MESSAGE_TEXT)
    shifted = attacks.shift_and_swap(PRINTED_EVENT, PRINTED.element())
    assert PRINTED.verify_product(shifted, MESSAGE_TEXT)
    assert not PRINTED.verify_one(shifted, MESSAGE_TEXT, "A")


def test_a2_nobody_signs_for_credentials_they_lack() -> None:
    """The holder of a: 4 to 7 with any b claims b = 11 as well, or a < 8, by all that is at hand."""
    groups, advertised = GROUPS, BUNDLE.advertisements[0]
    (own,), (any_b,) = (tuple(groups.read2(key.signing) for key in side) for side in advertised.sides)
    other = read_bundle(OURS.publisher_keys("b = 11")._data, PublisherBundle, OURS.schema, OURS.public).advertisements[
        0
    ]
    other_b, other_common = groups.read2(other.sides[1][0].signing), groups.read1(other.common)
    common, c, t = groups.read1(advertised.common), 12_345, 54_321
    claimed = [LEAF[0][:2], LEAF[1]]
    hashed = [
        groups.hash2(PUBLISHER_HASH, SCOPE.publisher_label(advertised.aid, place, path))
        for place, path in enumerate(claimed)
    ]
    bare = EventInside(advertised.aid, bytes(8), 1, Signature(b"", b"", b""), bytes(map(len, claimed)), b"forged")
    message = message_point(groups, SCOPE, bytes(32), bare, claimed)
    twice, half = groups.times2(own, 2), pow(2, -1, ORDER)
    both = groups.sum1((common, other_common))
    tries = {
        "its own key twice": (twice, common),
        "all of it twice": (twice, groups.times1(common, 2)),
        "a hash of its own": (groups.sum2((twice, groups.times2(hashed[1], c))), groups.times1(groups.generator1, c)),
        "its key for any b": (groups.sum2((own, any_b)), common),
        "another advertisement": (groups.sum2((own, other_b)), common),
        "the sum of both": (groups.sum2((own, other_b)), both),
        "the mean of both": (groups.sum2((own, other_b)), groups.times1(both, half)),
        "no key": (groups.times2(groups.sum2(hashed), c), groups.times1(groups.generator1, c)),
    }
    verifier = SignatureVerifier(VerifyingEpoch(groups, SCOPE, BUNDLE.points.signing))
    third = groups.write1(groups.times1(groups.generator1, t))
    for first, second in tries.values():
        signed = groups.sum2((first, groups.times2(message, t)))
        forged = bare._replace(signature=Signature(groups.write2(signed), groups.write1(second), third))
        with pytest.raises(UnopenedError, match="forged"):
            verifier.verify(forged, bytes(32), claimed)
    # The control: with the credentials that it has, the same computation is a signature.
    honest = [LEAF[0][:2], ()]
    message = message_point(groups, SCOPE, bytes(32), bare, honest)
    signed = groups.sum2((own, any_b, groups.times2(message, t)))
    good = bare._replace(signature=Signature(groups.write2(signed), groups.write1(common), third))
    verifier.verify(good, bytes(32), honest)
    with pytest.raises(UnopenedError, match="forged"):
        verifier.verify(good._replace(number=2), bytes(32), honest)


def components_world(one_gamma: bool) -> tuple[list[tuple[G2, object]], Claim, list[int]]:
    """Keys for two credentials, with one gamma or two; and what signatures are checked against."""
    hashed = tuple(GROUPS.hash2(PUBLISHER_HASH, each) for each in (b"A", b"B"))
    gammas = [11, 11] if one_gamma else [11, 13]
    master = GROUPS.times2(SECRETS.second, SECRETS.alpha_p)
    keys = [
        (GROUPS.sum2((master, GROUPS.times2(each, c))), GROUPS.times1(GROUPS.generator1, c))
        for each, c in zip(hashed, gammas, strict=True)
    ]
    claim = Claim(hashed, GROUPS.hash2(MESSAGE, b"m"), GROUPS.pair(GROUPS.read1(BUNDLE.points.signing), SECRETS.second))
    return keys, claim, gammas


@pytest.mark.parametrize("one_gamma", [True, False])
def test_components_are_verified_together_with_exponents_of_the_verifier(one_gamma: bool) -> None:
    keys, claim, _ = components_world(one_gamma)
    groups = CountedGroups(GROUPS)
    honest = sign_components(groups, Random(1), keys, claim.message)
    assert verify_one_by_one(groups, honest, claim)
    assert verify_product(groups, honest, claim)
    groups.pairings = 0
    assert verify_combined(groups, honest, claim, Random(2))
    assert groups.pairings == (3 if one_gamma else 4)
    shift = groups.times2(groups.generator2, 99)
    first = (groups.sum2((honest.first[0], shift)), groups.sum2((honest.first[1], groups.minus2(shift))))
    shifted = replace(honest, first=first)
    assert verify_product(groups, shifted, claim)
    assert not verify_combined(groups, shifted, claim, Random(3))
    assert not verify_one_by_one(groups, shifted, claim)


def test_a2_one_credential_passes_for_two_by_the_product_and_not_by_exponents() -> None:
    keys, claim, _ = components_world(False)
    key, common = keys[0]
    forged_keys = [
        (GROUPS.times2(key, 2), GROUPS.times1(common, 2)),
        (GROUPS.times2(claim.hashed[1], 17), GROUPS.times1(GROUPS.generator1, 17)),
    ]
    forged: Components = sign_components(GROUPS, Random(1), forged_keys, claim.message)
    assert verify_product(GROUPS, forged, claim)
    assert not verify_combined(GROUPS, forged, claim, Random(2))


# -- A3 to A6: what outsiders read -----------------------------------------------------------------------


def test_a3_anybody_reads_all_values_of_a_printed_event() -> None:
    assert attacks.read_value(PRINTED, PRINTED_EVENT, "A") == "0110"
    assert attacks.read_value(PRINTED, PRINTED_EVENT, "B") == "1011"


def test_a3_values_are_not_read_without_the_twin_of_the_hash() -> None:
    """Whoever has all labels and all points of other keys has no point of G2 that tells a level."""
    point, level = GROUPS.read1(EVENT.parts[0].point), GROUPS.read1(EVENT.parts[0].levels[2][0])
    wanted = GROUPS.pair(level, GROUPS.generator2)
    bundle = read_bundle(OURS.subscriber_keys("a = 9")._data, SubscriberBundle, OURS.schema, OURS.public)
    at_hand = [
        SECRETS.second,
        GROUPS.generator2,
        *(GROUPS.hash2(use, label(0, 2)) for use in (TAG, REQUEST, PUBLISHER_HASH)),
    ]
    for key in (key for each in bundle.conjunctions for side in each.sides for key in side):
        at_hand += map(GROUPS.read2, (key.opening, key.blinding, key.searching, key.answering))
    assert not any(GROUPS.same(GROUPS.pair(point, each), wanted) for each in at_hand)
    twin = GROUPS.times2(GROUPS.generator2, exponent_of(SECRETS.first, SECRETS.others, label(0, 2)))
    assert GROUPS.same(GROUPS.pair(point, twin), wanted)  # the key server could


def test_a4_anybody_opens_the_tags_of_a_printed_event_of_one_attribute() -> None:
    assert attacks.read_tags(PRINTED, PRINTED.encrypt(MESSAGE_TEXT, {"A": "0110"})) == "0110"


def test_a4_the_binding_does_not_open_tags_even_for_a_publisher() -> None:
    made = server(numbers(1))
    event = read_event(made.publisher_keys("TRUE").seal({"a": 6}))
    scope, key = made._secrets.scope, made._secrets.label_key
    hashed = GROUPS.hash2(TAG, scope.subscriber_label(key, 0, ()))
    tag = tag_of(GROUPS, GROUPS.pair(GROUPS.read1(event.binding), hashed), tag_context(scope, event.id, 0))
    assert tag != event.parts[0].levels[0][1]


def test_a5_a_printed_search_key_is_found_out_by_trying() -> None:
    key = PRINTED.subscriber_key({"A": "011"}).searching["A"]
    assert attacks.guess_search_key(PRINTED, key, 4) == ["011"]
    assert PRINTED.subscriber_key({"A": "011"}).searching["A"] == key


def test_a5_a_search_key_is_found_out_with_the_label_key_and_not_without() -> None:
    """The exception: publishers have the label key, and a parent that is one finds out what it was handed."""
    conjunction = read_bundle(READER._data, SubscriberBundle, OURS.schema, OURS.public).conjunctions[0]
    key = conjunction.sides[0][0]
    value = GROUPS.pair(GROUPS.generator1, GROUPS.read2(key.searching))
    searching = GROUPS.read1(BUNDLE.points.searching)

    def found(key_of_labels: bytes) -> list[int]:
        return [
            number
            for number in range(16)
            if GROUPS.same(GROUPS.pair(searching, GROUPS.hash2(TAG, _label_under(key_of_labels, number))), value)
        ]

    assert found(SECRETS.label_key.reveal()) == [6]
    assert found(bytes(32)) == []


def _label_under(key: bytes, number: int) -> bytes:
    return SCOPE.subscriber_label(Secret(key), 0, OURS.schema.leaves((number, 0))[0])


def test_a6_a_printed_signature_confirms_a_guess_and_links_events() -> None:
    assert attacks.confirm_message(PRINTED, PRINTED_EVENT, [b"fine", MESSAGE_TEXT, b"fire"]) == [MESSAGE_TEXT]
    again = PRINTED.encrypt(b"other", {"A": "0110"}, {"A": ("01", KEY_A)})
    assert again.second["A"] == PRINTED_EVENT.second["A"]


def test_a6_signatures_are_not_seen_from_outside_and_events_share_nothing() -> None:
    inside, _ = inside_of(SEALED)
    assert not [each for each in (*inside.signature, inside.aid, inside.run) if each in SEALED]
    other = PUBLISHER.seal({"a": 6, "b": 11}, MESSAGE_TEXT)
    windows = {SEALED[at : at + 16] for at in range(41, len(SEALED) - 16)}
    assert not [at for at in range(41, len(other) - 16) if other[at : at + 16] in windows]


# -- A7 to A10: keys and signatures that combine ---------------------------------------------------------


def test_a7_printed_keys_of_two_advertisements_combine() -> None:
    first, second = PRINTED.publisher_key("00", "A"), PRINTED.publisher_key("10", "B")
    event = PRINTED.encrypt(MESSAGE_TEXT, {"A": "0000", "B": "1000"}, {"A": ("00", first), "B": ("10", second)})
    assert all(PRINTED.verify_one(event, MESSAGE_TEXT, each) for each in "AB")


def test_a7_labels_of_two_advertisements_differ() -> None:
    """That mixtures are refused is in tests/unit/security/test_whole_events.py; this is why."""
    keys = OURS.publisher_keys("(a < 8 AND b < 8) OR (a >= 8 AND b >= 8)")
    one, other = read_bundle(keys._data, PublisherBundle, OURS.schema, OURS.public).advertisements
    assert one.aid != other.aid
    assert SCOPE.publisher_label(one.aid, 0, ()) != SCOPE.publisher_label(other.aid, 0, ())
    assert one.common != other.common


def test_a8_more_keys_of_one_gamma_than_bits_make_any_key() -> None:
    scheme = PrintedScheme(Random(6), bits=16)
    keys = {each: scheme.publisher_key(each, "A", 77) for each in (format(number, "05b") for number in range(24))}
    forged = attacks.key_by_combination(scheme, keys, "A", ("1", "SECRET"))
    assert forged is not None
    event = scheme.encrypt(MESSAGE_TEXT, {"SECRET": "11"}, {"SECRET": ("1", forged)})
    assert scheme.verify_one(event, MESSAGE_TEXT, "SECRET")


def test_a8_more_levels_than_bits_let_a_subscriber_of_another_value_decrypt() -> None:
    scheme = PrintedScheme(Random(7), bits=16)
    value = "01" * 12
    event = scheme.encrypt(MESSAGE_TEXT, {"A": value})
    level = attacks.level_by_combination(scheme, event, value, "1111")
    assert level is not None
    event.levels["A"][3] = level
    assert scheme.decrypt(event, scheme.subscriber_key({"A": "1111"})) == MESSAGE_TEXT


def test_a8_no_dimension_has_levels_enough_and_the_most_there_are_do_not_reach_others() -> None:
    with pytest.raises(SchemaError):
        Text(126)
    schema = CredentialSchema(Schema([Attribute("a", "string")]), {"a": Text(125)})
    made = server(schema)
    leaf = schema.leaves(("x" * 125,))[0]

    def bits(path: tuple[bytes, ...]) -> list[int]:
        wanted = made._secrets.scope.subscriber_label(made._secrets.label_key, 0, path)
        digest = hashlib.sha256(enc(b"siftcast sealed event 1: H1", wanted)).digest()
        return [int.from_bytes(digest, "little") >> place & 1 for place in range(256)] + [1]

    columns = np.array([bits(leaf[:length]) for length in range(128)], dtype=np.int64).T
    for other in ((b"null",), (b"value", b"y")):
        assert not is_in_span(columns, np.array([bits(other)], dtype=np.int64).T)
    assert is_in_span(columns, columns[:, :1] * 2 % PRIME)  # the control


def test_a9_printed_names_run_together() -> None:
    assert PRINTED.name("xsur", "name", "SUB") == PRINTED.name("x", "surname", "SUB")


def test_a9_labels_do_not_run_together() -> None:
    one = CredentialSchema(
        Schema([Attribute("name", "string"), Attribute("surname", "string")]), {"name": Text(5), "surname": Text(5)}
    )
    scope = server(one)._secrets.scope
    key = SECRETS.label_key
    assert scope.subscriber_label(key, 0, (b"x", b"s")) != scope.subscriber_label(key, 1, (b"x", b"s"))
    assert scope.subscriber_label(key, 0, (b"ab",)) != scope.subscriber_label(key, 0, (b"a", b"b"))
    assert scope.subscriber_label(key, 0, ()) != scope.publisher_label(bytes(16), 0, ())


def test_a10_anybody_signs_a_known_message_again() -> None:
    again = attacks.sign_again(PRINTED, PRINTED_EVENT, MESSAGE_TEXT)
    assert PRINTED.verify_one(again, MESSAGE_TEXT, "A")
    assert again.first["A"] != PRINTED_EVENT.first["A"]


def test_a10_an_event_that_was_signed_again_is_the_same_event_by_its_number() -> None:
    """Only who opened it can do so, and what it makes has the run and the number of the first."""
    inside, hashed = inside_of(SEALED)
    message = message_point(GROUPS, SCOPE, hashed, inside, [LEAF[0][: inside.levels[0]], LEAF[1][: inside.levels[1]]])
    first = GROUPS.sum2((GROUPS.read2(inside.signature.first), GROUPS.times2(message, 5)))
    third = GROUPS.sum1((GROUPS.read1(inside.signature.third), GROUPS.times1(GROUPS.generator1, 5)))
    again = inside._replace(signature=inside.signature._replace(first=GROUPS.write2(first), third=GROUPS.write1(third)))
    event = read_event(SEALED)
    key = _key_of(SEALED)
    known = event.header + event.commitment
    opened = [READER.open(each) for each in (SEALED, known + key.encrypt(0, write_inside(again), known))]
    replays = Replays()
    assert [replays.admit((each.advertisement.hex(), each.run, ""), each.number) for each in opened] == [True, False]


def _key_of(sealed: bytes) -> BatchKey:
    conjunction = READER._conjunctions[0]
    return decrypt_key(GROUPS, read_event(sealed), conjunction.binding, [side[0].opening for side in conjunction.sides])


# -- A12 to A16 ------------------------------------------------------------------------------------------


def test_a12_a_printed_event_without_an_attribute_opens_for_those_who_constrain_it() -> None:
    key = PRINTED.subscriber_key({"A": "01", "B": "101"})
    assert PRINTED.decrypt(PRINTED.encrypt(MESSAGE_TEXT, {"A": "0110"}), key) == MESSAGE_TEXT


def test_a12_events_have_all_dimensions_and_what_is_missing_is_null() -> None:
    keys = OURS.subscriber_keys("a = 6 AND b = 11")
    with pytest.raises(UnopenedError, match="no-key"):
        keys.open(PUBLISHER.seal({"a": 6}))
    part = 1 + 48 + 64 * len(EVENT.parts[1].levels)
    short = bytearray(SEALED[: len(EVENT.header) - part] + SEALED[len(EVENT.header) :])
    short[105] = 1
    with pytest.raises(UnopenedError, match="malformed"):
        keys.open(bytes(short))


def test_a13_a_hash_with_a_known_exponent_gives_search_keys_away() -> None:
    assert PRINTED.search(PRINTED_EVENT, attacks.search_key_from_hash(PRINTED, "0110"), "A", 4)


def test_a13_hashes_to_the_curve_have_no_exponent_to_be_used() -> None:
    exponent = int.from_bytes(hashlib.sha512(label(0, 4)).digest(), "big") % ORDER
    for base in (GROUPS.generator2, SECRETS.second):
        candidate = GROUPS.times2(base, exponent)
        assert GROUPS.write2(candidate) != GROUPS.write2(GROUPS.hash2(TAG, label(0, 4)))
        value = GROUPS.pair(GROUPS.read1(EVENT.parts[0].point), candidate)
        assert tag_of(GROUPS, value, tag_context(SCOPE, EVENT.id, 0)) != EVENT.parts[0].levels[4][1]


def test_a14_a_bit_of_a_printed_ciphertext_is_flipped_unnoticed() -> None:
    plain = PRINTED.decrypt(attacks.flip(PRINTED_EVENT), PRINTED.subscriber_key({"A": "01", "B": "101"}))
    assert plain is not None
    assert plain != MESSAGE_TEXT


def test_a14_no_bit_of_a_ciphertext_is_flipped_unnoticed() -> None:
    for place in (len(EVENT.header) + 32, len(SEALED) - 17, len(SEALED) - 1):
        with pytest.raises(UnopenedError, match="altered"):
            READER.open(SEALED[:place] + bytes((SEALED[place] ^ 1,)) + SEALED[place + 1 :])


def test_a15_a_spoiled_level_fails_holders_of_one_credential_only() -> None:
    keys = [PRINTED.subscriber_key({"A": each, "B": "1"}) for each in ("01", "0")]
    assert attacks.opens_spoiled(PRINTED, attacks.spoil(PRINTED_EVENT, 2, GENERATOR), keys) == [False, True]


def test_a15_a_spoiled_level_fails_all_alike() -> None:
    readers = [OURS.subscriber_keys(each) for each in ("a = 6", "a BETWEEN 4 AND 7", "b = 11")]
    assert all(each.open(SEALED) for each in readers)
    place = 106 + 49 + 2 * 64
    spoiled = SEALED[:place] + GROUPS.write1(GROUPS.generator1) + SEALED[place + 48 :]
    reasons = set()
    for each in readers:
        with pytest.raises(UnopenedError) as caught:
            each.open(spoiled)
        reasons.add(caught.value.reason)
    assert reasons == {"no-key"}


def test_a16_two_levels_of_a_linear_hash_give_all() -> None:
    hashed, b = LinearHash(PRINTED.element(), PRINTED.element()), PRINTED.scalar()
    levels = {each: hashed.of(each) ** b for each in (11, 22)}
    assert attacks.third_level(hashed, levels, 33, pow(11, -1, ORDER)) == hashed.of(33) ** b


def test_a16_levels_of_the_hash_in_use_do_not() -> None:
    points = BUNDLE.points.waters
    first, *others = (GROUPS.read1(points[at : at + 48]) for at in range(0, len(points), 48))
    waters = WatersHash(GROUPS, first, others)
    labels = [label(0, length) for length in range(3)]
    numbers_of = [
        int.from_bytes(hashlib.sha256(enc(b"siftcast sealed event 1: H1", each)).digest(), "little") for each in labels
    ]
    ratio = (numbers_of[2] - numbers_of[0]) * pow(numbers_of[1] - numbers_of[0], -1, ORDER)
    one, two = waters.of(labels[0]), waters.of(labels[1])
    guessed = GROUPS.sum1((GROUPS.times1(one, 1 - ratio), GROUPS.times1(two, ratio)))
    assert GROUPS.write1(guessed) != GROUPS.write1(waters.of(labels[2]))
    assert affine_combination([[1, 0], [0, 1]], [1, 1]) is None
    assert affine_combination([[1, 0], [0, 1]], [2, -1]) == [2, ORDER - 1]


def test_the_hash_by_tables_is_the_hash_by_definition_and_by_its_exponent() -> None:
    points = BUNDLE.points.waters
    first, *others = (GROUPS.read1(points[at : at + 48]) for at in range(0, len(points), 48))
    waters = WatersHash(GROUPS, first, others)
    for length in range(5):
        name = label(0, length)
        digest = int.from_bytes(hashlib.sha256(enc(b"siftcast sealed event 1: H1", name)).digest(), "little")
        plain = GROUPS.sum1((first, *(each for place, each in enumerate(others) if digest >> place & 1)))
        exponent = exponent_of(SECRETS.first, SECRETS.others, name)
        expected = GROUPS.write1(GROUPS.times1(GROUPS.generator1, exponent))
        assert GROUPS.write1(waters.of(name)) == GROUPS.write1(plain) == expected


# -- A17 to A20: requests, and scalars that are told -----------------------------------------------------


def test_a17_a_printed_connection_request_tells_the_credential() -> None:
    assert attacks.read_request(PRINTED, printed_request(PRINTED, "011"), 3) == ["0", "01", "011"]


def test_a17_a_connection_request_tells_publishers_nothing() -> None:
    """They have all labels; what they lack is the searching secret, or the request's scalar."""
    request, _ = OURS.connection_request(0, LEAF[0][:3], b"peer", 100)
    context, point = request.context(SCOPE), GROUPS.read1(request.point)
    searching = GROUPS.read1(BUNDLE.points.searching)
    opened = 0
    for length in range(4):
        hashed = GROUPS.hash2(REQUEST, label(0, length))
        for left in (point, searching, GROUPS.sum1((point, searching))):
            key = _slot_key(GROUPS, GROUPS.pair(left, hashed), context)
            for slot in request.slots:
                try:
                    key.decrypt(bytes(12), slot, context)
                    opened += 1
                except InvalidTag:
                    continue
    assert opened == 0
    keys = OURS.subscriber_keys("a BETWEEN 4 AND 7")
    assert keys.open_request(request, 0.0) is not None


def test_a19_who_learns_the_scalar_of_a_printed_event_has_the_publishers_key() -> None:
    made = encrypt_checked(PRINTED, MESSAGE_TEXT, ("01", KEY_A))
    assert PRINTED.verify_one(made.event, MESSAGE_TEXT, "A")
    assert attacks.publisher_key_of(PRINTED, made.event, MESSAGE_TEXT, made.scalars["A"]) == KEY_A[0]


def test_a19_who_learns_all_scalars_of_an_event_has_no_publishers_key() -> None:
    made = server(numbers(2))
    publisher = made.publisher_keys("TRUE")
    seen: list[int] = []
    honest = HedgedStream.scalar

    def heard(stream: HedgedStream) -> int:
        seen.append(honest(stream))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HedgedStream, "scalar", heard)
        sealed = publisher.seal({"a": 6, "b": 11})
    *encrypting, t = seen
    reader = made.subscriber_keys("a = 6")
    event = read_event(sealed)
    inside = read_inside(reader._decrypt(event)[1], 2)
    credentials = [(), ()]
    message = message_point(GROUPS, made._secrets.scope, header_hash(event.header), inside, credentials)
    advertised = read_bundle(publisher._data, PublisherBundle, made.schema, made.public).advertisements[0]
    key = GROUPS.write2(GROUPS.sum2(GROUPS.read2(side[0].signing) for side in advertised.sides))
    first = GROUPS.read2(inside.signature.first)
    for b in (*encrypting, sum(encrypting)):
        assert GROUPS.write2(GROUPS.sum2((first, GROUPS.minus2(GROUPS.times2(message, b))))) != key
    # The control: t, which is told to nobody and is none of them, would.
    assert GROUPS.write2(GROUPS.sum2((first, GROUPS.minus2(GROUPS.times2(message, t))))) == key


def test_a20_a_word_for_each_slot_tells_the_parents_credential() -> None:
    words = request_of_words(PRINTED, "011")
    answer = next(word for word, credential in words.items() if credential == "01")
    assert words[answer] == "01"
    assert len(words) == len(prefixes("011"))


def test_a20_the_answer_does_not_depend_on_the_parents_credential() -> None:
    request, word = OURS.connection_request(0, LEAF[0], b"peer", 100)
    answers = set()
    for filter in ("b = 1", "a < 8", "a BETWEEN 4 AND 7", "a BETWEEN 6 AND 7", "a = 6"):
        opened = OURS.subscriber_keys(filter).open_request(request, 0.0)
        assert opened is not None
        answers.add(opened.answer(b"t", b"peer", b"parent"))
    assert answers == {word.answer(b"t", b"peer", b"parent")}
