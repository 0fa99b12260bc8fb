"""Events sealed whole: who opens them, what is refused, and what no mixture of keys gets around."""

import copy
import pickle
import stat
from hashlib import shake_256
from itertools import combinations
from pathlib import Path

import msgspec
import pytest

from siftcast.model import EventError
from siftcast.security import KeyRingError, SealError, UnopenedError
from siftcast.security.credentials import TimeSlots
from siftcast.security.hazmat.derivation import BatchKey
from siftcast.security.hazmat.groups import G1_BYTES, ORDER, PointError, find_groups
from siftcast.security.hazmat.groups.arkworks import ArkworksGroups
from siftcast.security.hazmat.scheme.encryption import decrypt_key
from siftcast.security.hazmat.scheme.event_form import is_whole_sealed, read_event, read_inside, write_inside
from siftcast.security.hazmat.scheme.issuing import issue_conjunction
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.whole import KeyServer, PublisherKeys, SearchKeys, SubscriberKeys
from siftcast.security.whole.bundles import PublisherBundle, SubscriberBundle, read_bundle, write_bundle
from tests.unit.security.whole_world import STOCKS, counted_server, numbers, server

EVENT = {"a": 6, "b": 11}
SERVER = server(numbers(2))
PUBLISHER = SERVER.publisher_keys("TRUE")
SEALED = PUBLISHER.seal(EVENT, b"payload")
ENTITLED = [SERVER.subscriber_keys(each) for each in ("a = 6 AND b = 11", "a BETWEEN 4 AND 7", "b > 2 AND a < 9")]


def refused(keys: SubscriberKeys, sealed: bytes) -> str:
    with pytest.raises(UnopenedError) as caught:
        keys.open(sealed)
    return caught.value.reason


def bundle_of(keys: SubscriberKeys) -> SubscriberBundle:
    return read_bundle(keys._data, SubscriberBundle, keys.schema, SERVER.public)


def mixed(template: SubscriberKeys, *conjunctions: object) -> SubscriberKeys:
    """Keys that a cheat has put together, as if the server had issued them."""
    bundle = msgspec.structs.replace(bundle_of(template), conjunctions=conjunctions)
    return SubscriberKeys(write_bundle(bundle, SERVER._signing), template.schema, SERVER.public)


# -- what it costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_opening_takes_two_pairings_a_dimension_and_one_and_verifying_three(dimensions: int) -> None:
    made, groups = counted_server(numbers(dimensions))
    publisher, keys = made.publisher_keys("TRUE"), made.subscriber_keys("a = 3")
    router = made.search_keys("a = 3")
    sealed = [publisher.seal({"a": 3}) for _ in range(2)]
    keys.open(sealed[0])  # what all events of an epoch are verified against is found once
    groups.pairings = 0
    keys.open(sealed[1])
    assert groups.pairings == 2 * dimensions + 1 + 3
    groups.pairings = 0
    assert router.search(sealed[1])
    assert groups.pairings == 1
    groups.pairings = 0
    publisher.seal({"a": 3})
    assert groups.pairings == 0  # the values that tags are powers of are remembered


def test_a_request_takes_one_pairing_to_open() -> None:
    made, groups = counted_server(numbers(1))
    keys = made.subscriber_keys("a < 8")
    request, word = made.connection_request(0, (b"0", b"1"), b"peer", 100)
    groups.pairings = 0
    opened = keys.open_request(request, 50.0)
    assert opened is not None
    assert groups.pairings == 1
    word.check(opened.answer(b"t", b"peer", b"parent"), b"t", b"peer", b"parent")


# -- who opens -------------------------------------------------------------------------------------------


def test_all_who_are_entitled_open_and_nobody_else() -> None:
    for keys in ENTITLED:
        assert keys.open(SEALED).payload == b"payload"
        assert keys.open(SEALED).attributes == EVENT
    for filter in ("a = 7 AND b = 11", "a = 6 AND b = 10", "a IS NULL", "a = 11 AND b = 6"):
        assert refused(SERVER.subscriber_keys(filter), SEALED) == "no-key"


def test_an_or_does_not_open_what_neither_of_its_sides_matches() -> None:
    keys = SERVER.subscriber_keys("(a < 8 AND b < 8) OR (a >= 8 AND b >= 8)")
    assert refused(keys, SEALED) == "no-key"
    assert keys.open(PUBLISHER.seal({"a": 9, "b": 9})).attributes == {"a": 9, "b": 9}
    assert keys.open(PUBLISHER.seal({"a": 1, "b": 1})).attributes == {"a": 1, "b": 1}


def test_events_of_another_server_epoch_or_schema_do_not_open() -> None:
    keys = ENTITLED[1]
    other = server(numbers(2), seed=9)
    assert refused(keys, other.publisher_keys("TRUE").seal(EVENT)) == "no-key"
    assert refused(keys, server(numbers(1)).publisher_keys("TRUE").seal({"a": 6})) == "no-key"
    later = server(numbers(2))
    old = later.subscriber_keys("a = 6")
    old_publisher = later.publisher_keys("TRUE")
    later.begin_epoch()
    new = later.subscriber_keys("a = 6")
    assert refused(old, later.publisher_keys("TRUE").seal(EVENT)) == "unknown-epoch"
    assert refused(new, old_publisher.seal(EVENT)) == "unknown-epoch"
    # An old key does not even open what says that it is of the old epoch, and was made with new points.
    sealed = bytearray(later.publisher_keys("TRUE").seal(EVENT))
    sealed[37:41] = (1).to_bytes(4, "big")
    assert refused(old, bytes(sealed)) == "no-key"


def test_keys_issued_twice_have_nothing_in_common_but_search_keys() -> None:
    first, second = (bundle_of(SERVER.subscriber_keys("a = 6")).conjunctions[0] for _ in range(2))
    assert first.binding != second.binding
    one, other = first.sides[0][0], second.sides[0][0]
    assert one.opening != other.opening
    assert one.blinding != other.blinding
    assert one.searching == other.searching


# -- keys that are mixed ---------------------------------------------------------------------------------


def test_conjunctions_do_not_combine() -> None:
    groups = find_groups()
    right_a, right_b = (SERVER.subscriber_keys(each) for each in ("a = 6 AND b = 0", "a = 0 AND b = 11"))
    one, other = bundle_of(right_a).conjunctions[0], bundle_of(right_b).conjunctions[0]
    sides = (one.sides[0], other.sides[1])
    read, write = groups.read2, groups.write2
    total = groups.sum2((read(one.binding), read(other.binding)))
    difference = groups.sum2((read(one.binding), groups.minus2(read(other.binding))))
    mean = groups.times2(total, pow(2, -1, ORDER))
    for binding in (one.binding, other.binding, write(total), write(difference), write(mean)):
        assert refused(mixed(right_a, msgspec.structs.replace(one, binding=binding, sides=sides)), SEALED) == "no-key"


def test_conjunctions_with_one_gamma_would_combine() -> None:
    """The control: what the test above relies on is that the scheme draws another gamma each time."""
    secrets, sides = SERVER._secrets, [((b"0", b"1", b"1", b"0"),), ((b"1", b"0", b"1", b"1"),)]
    wrong = ((b"0", b"0", b"0", b"0"),)
    one = issue_conjunction(secrets, HedgedStream(b"k", bytes, b""), [sides[0], wrong])
    other = issue_conjunction(secrets, HedgedStream(b"k", bytes, b""), [wrong, sides[1]])
    assert one.binding == other.binding
    both = msgspec.structs.replace(one, sides=(one.sides[0], other.sides[1]))
    assert mixed(ENTITLED[0], both).open(SEALED).attributes == EVENT


def test_a_publishers_keys_do_not_open_and_a_subscribers_do_not_sign() -> None:
    groups = find_groups()
    publisher = read_bundle(PUBLISHER._data, PublisherBundle, PUBLISHER.schema, SERVER.public)
    good = bundle_of(SERVER.subscriber_keys("a = 6 AND b = 11")).conjunctions[0]
    blinding = groups.write2(groups.generator2)
    sides = tuple(
        (msgspec.structs.replace(side[0], opening=keys[0].signing, blinding=blinding),)
        for side, keys in zip(good.sides, publisher.advertisements[0].sides, strict=True)
    )
    assert refused(mixed(ENTITLED[0], msgspec.structs.replace(good, sides=sides)), SEALED) == "no-key"
    advertised = publisher.advertisements[0]
    forged = tuple(
        (msgspec.structs.replace(keys[0], signing=side[0].opening),)
        for side, keys in zip(good.sides, advertised.sides, strict=True)
    )
    bundle = msgspec.structs.replace(publisher, advertisements=(msgspec.structs.replace(advertised, sides=forged),))
    cheat = PublisherKeys(write_bundle(bundle, SERVER._signing), PUBLISHER.schema, SERVER.public)
    assert refused(ENTITLED[1], cheat.seal(EVENT)) == "forged"


def test_keys_of_two_advertisements_do_not_combine() -> None:
    keys = SERVER.publisher_keys("(a < 8 AND b < 8) OR (a >= 8 AND b >= 8)")
    with pytest.raises(SealError):
        keys.seal(EVENT)
    bundle = read_bundle(keys._data, PublisherBundle, keys.schema, SERVER.public)
    low, high = bundle.advertisements
    groups = find_groups()
    both = groups.write1(groups.sum1((groups.read1(low.common), groups.read1(high.common))))
    for aid, common in [(low.aid, low.common), (high.aid, high.common), (low.aid, both)]:
        made = msgspec.structs.replace(low, aid=aid, common=common, sides=(low.sides[0], high.sides[1]))
        cheat = msgspec.structs.replace(bundle, advertisements=(made,))
        sealed = PublisherKeys(write_bundle(cheat, SERVER._signing), keys.schema, SERVER.public).seal(EVENT)
        assert refused(ENTITLED[0], sealed) == "forged"


def test_a_publisher_cannot_seal_for_other_values_than_it_says() -> None:
    """It writes other values inside than those that the header has credentials for."""
    cheat = SERVER.publisher_keys("TRUE")
    honest = cheat._encrypter.encrypt
    cheat._encrypter.encrypt = lambda stream, leaves: honest(stream, cheat.schema.leaves((6, 11)))  # type: ignore[method-assign]
    assert refused(ENTITLED[0], cheat.seal({"a": 6, "b": 12})) == "forged"
    assert ENTITLED[0].open(cheat.seal({"a": 6, "b": 11})).attributes == EVENT


# -- bytes that are altered ------------------------------------------------------------------------------


def check_flips(places: range) -> None:
    made = server(numbers(1))
    keys = [made.subscriber_keys(each) for each in ("a = 6", "a IS NOT NULL")]
    sealed = made.publisher_keys("TRUE").seal({"a": 6})
    assert len(sealed) < places.stop
    for place in places:
        altered = bytearray(sealed)
        altered[place % len(sealed)] ^= 1 << place % 8
        assert [refused(each, bytes(altered)) for each in keys]


def test_no_byte_of_an_event_can_be_altered_unnoticed_and_all_notice_alike() -> None:
    check_flips(range(0, 1_001, 7))


@pytest.mark.full
def test_no_byte_at_all_can_be_altered_unnoticed() -> None:
    check_flips(range(8_000))


def test_parts_of_other_events_do_not_fit() -> None:
    first, second = (PUBLISHER.seal(EVENT, payload) for payload in (b"first", b"other"))
    one, other = read_event(first), read_event(second)
    ends = len(one.header), len(one.header) + 32
    router = SERVER.search_keys("a = 6")
    for start, end in [
        (41, 57),
        (57, 105),
        (106, ends[0]),
        (106 + 1 + 48 + 48, 106 + 1 + 48 + 64),
        (ends[0], ends[1]),
        (ends[1], None),
    ]:
        mixed_event = first[:start] + second[start:end] + (b"" if end is None else first[end:])
        assert mixed_event not in (first, second)
        assert refused(ENTITLED[1], mixed_event) in ("no-key", "altered")
    assert not router.search(first[:41] + second[41:57] + first[57:])
    assert one.header != other.header


def every_point(sealed: bytes) -> list[int]:
    event = read_event(sealed)
    places, at = [57], 106
    for part in event.parts:
        places.append(at + 1)
        places += [at + 49 + level * 64 for level in range(len(part.levels))]
        at += 49 + len(part.levels) * 64
    return places


def test_points_that_are_none_are_refused_in_every_place_that_is_read() -> None:
    keys = SERVER.subscriber_keys("a IS NOT NULL AND b = 11")
    for place in every_point(SEALED):
        for bad in (bytes(G1_BYTES), b"\xff" * G1_BYTES, b"\x01" + bytes(47)):
            with pytest.raises(UnopenedError):
                keys.open(SEALED[:place] + bad + SEALED[place + G1_BYTES :])


def test_a_key_that_is_committed_to_opens_one_way_only() -> None:
    event = read_event(SEALED)
    other = BatchKey(bytes(64))
    data = event.header + other.commitment + other.encrypt(0, b"another inside", event.header + other.commitment)
    assert refused(ENTITLED[0], data) == "no-key"


def test_cut_long_and_foreign_bytes_are_no_events() -> None:
    for end in range(0, len(SEALED), 97):
        assert refused(ENTITLED[0], SEALED[:end]) in ("plain", "malformed", "no-key", "altered")
    assert refused(ENTITLED[0], SEALED + b"\0") == "altered"
    assert refused(ENTITLED[0], b"plain") == "plain"
    assert refused(ENTITLED[0], SEALED[:4] + b"\2" + SEALED[5:]) == "malformed"
    assert is_whole_sealed(SEALED)


def test_events_that_differ_in_values_only_have_equal_lengths() -> None:
    publisher = server(STOCKS).publisher_keys("TRUE")
    facts = [{}, {"price": 3}, {"symbol": "IBM", "desk": "north"}, {"symbol": "", "price": 15, "desk": ""}]
    assert len({len(publisher.seal(each, b"same")) for each in facts}) == 1
    headers = [read_event(publisher.seal(each)).parts for each in facts]
    assert len({tuple(len(part.levels) for part in parts) for parts in headers}) == 1


# -- randomness, secrets, files --------------------------------------------------------------------------


def test_randomness_that_repeats_repeats_no_scalar() -> None:
    made = KeyServer(numbers(1), SERVER._seed, SERVER._seed, random=bytes)
    publisher = made.publisher_keys("TRUE")
    events = [read_event(publisher.seal({"a": 6}, payload)) for payload in (b"one", b"two", b"two")]
    for first, second in combinations(events, 2):
        assert first.id != second.id
        assert first.binding != second.binding
        assert {part.point for part in first.parts}.isdisjoint(part.point for part in second.parts)


def test_no_secret_of_the_server_is_in_what_it_hands_out() -> None:
    secrets = SERVER._secrets
    scalars = [secrets.alpha, secrets.alpha_p, secrets.phi, secrets.phi_s, secrets.first, *secrets.others]
    forms = [each.to_bytes(32, order) for each in scalars for order in ("little", "big")]
    groups = find_groups()
    forms += [groups.write2(groups.times2(groups.generator2, each)) for each in (secrets.first, *secrets.others)]
    forms += [SERVER._seed.reveal(), SERVER._signing.seed.reveal()]
    handed_out = [PUBLISHER._data, *(each._data for each in ENTITLED), SEALED]
    assert not [each for each in forms for data in handed_out if each in data]
    assert not [each for data in handed_out[1:] for each in [secrets.label_key.reveal()] if each in data]


@pytest.mark.parametrize(
    "keys", [SERVER, PUBLISHER, ENTITLED[0], SERVER.search_keys("a = 1")], ids=lambda each: type(each).__name__
)
def test_keys_do_not_print_pickle_or_copy(keys: object) -> None:
    assert repr(keys) == f"{type(keys).__name__}(hidden)"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(KeyRingError):
            leak(keys)
    assert "6" not in repr(ENTITLED[0].open(SEALED)).split(" at ")[0]


def test_keys_are_kept_in_private_files(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    SERVER.save(folder / "server.key")
    PUBLISHER.save(folder / "publisher.key")
    ENTITLED[0].save(folder / "subscriber.key")
    SERVER.search_keys("a = 6").save(folder / "search.key")
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    schema = SERVER.schema
    again = KeyServer.load(folder / "server.key", schema)
    assert again.public == SERVER.public
    sealed = PublisherKeys.load(folder / "publisher.key", schema, again.public).seal(EVENT)
    assert again.subscriber_keys("b = 11").open(sealed).attributes == EVENT
    assert SubscriberKeys.load(folder / "subscriber.key", schema, again.public).open(SEALED).attributes == EVENT
    assert SearchKeys.load(folder / "search.key", schema, again.public).search(SEALED)
    (folder / "server.key").chmod(0o640)
    with pytest.raises(KeyRingError, match="other accounts"):
        KeyServer.load(folder / "server.key", schema)
    with pytest.raises(KeyRingError, match="another schema"):
        PublisherKeys.load(folder / "publisher.key", numbers(1), again.public)


def test_keys_that_another_server_issued_or_that_were_altered_are_refused() -> None:
    data, schema = ENTITLED[0]._data, SERVER.schema
    with pytest.raises(KeyRingError, match="not issued"):
        SubscriberKeys(data, schema, server(numbers(2), seed=7).public)
    with pytest.raises(KeyRingError, match="not issued"):
        SubscriberKeys(data[:-1] + bytes((data[-1] ^ 1,)), schema, SERVER.public)
    with pytest.raises(KeyRingError, match="not those of a publisher"):
        PublisherKeys(data, schema, SERVER.public)
    bundle = bundle_of(ENTITLED[0])
    bad = msgspec.structs.replace(
        bundle, conjunctions=(msgspec.structs.replace(bundle.conjunctions[0], binding=bytes(96)),)
    )
    with pytest.raises(PointError):
        SubscriberKeys(write_bundle(bad, SERVER._signing), schema, SERVER.public)


def test_what_no_advertisement_covers_is_not_sealed() -> None:
    keys = SERVER.publisher_keys("a < 8")
    with pytest.raises(SealError):
        keys.seal({"a": 8})
    with pytest.raises(EventError):
        keys.seal({"a": 99})
    assert ENTITLED[1].open(keys.seal({"a": 5})).attributes == {"a": 5, "b": None}


def test_who_joins_later_opens_nothing_of_before() -> None:
    made = server(numbers(1, TimeSlots(100)))
    publisher, late = made.publisher_keys("TRUE"), made.subscriber_keys("a = 6", during=(50, 100))
    assert refused(late, publisher.seal({"a": 6}, slot=49)) == "no-key"
    assert late.open(publisher.seal({"a": 6}, slot=50)).attributes == {"a": 6}
    for slot in (None, 100):
        with pytest.raises(EventError):
            publisher.seal({"a": 6}, slot=slot)


def test_the_other_backend_makes_and_opens_the_same_events() -> None:
    other = server(numbers(1), groups=ArkworksGroups())
    first = server(numbers(1))
    sealed = [each.publisher_keys("TRUE").seal({"a": 6}, b"x") for each in (first, other)]
    assert len({each[:41] for each in sealed}) == 1
    for made in (first, other):
        keys = made.subscriber_keys("a = 6")
        assert [keys.open(each).payload for each in sealed] == [b"x", b"x"]


def test_numbers_of_a_publisher_are_each_given_once() -> None:
    opened = [ENTITLED[0].open(PUBLISHER.seal(EVENT)) for _ in range(3)]
    assert len({(each.advertisement, each.run, each.number) for each in opened}) == 3
    assert len({(each.advertisement, each.run) for each in opened}) == 1


def test_points_of_a_signature_are_checked_as_all_others() -> None:
    reader = SERVER.subscriber_keys("a = 6 AND b = 11")
    event, conjunction = read_event(SEALED), reader._conjunctions[0]
    key = decrypt_key(find_groups(), event, conjunction.binding, [side[0].opening for side in conjunction.sides])
    known = event.header + event.commitment
    inside = read_inside(key.decrypt(0, event.ciphertext, known), 2)
    good = inside.signature
    for bad in (
        good._replace(first=bytes(96)),
        good._replace(second=bytes(48)),
        good._replace(third=b"\xff" * 48),
        good._replace(first=good.second + good.third),
        good._replace(second=good.third, third=good.second),
    ):
        sealed = known + key.encrypt(0, write_inside(inside._replace(signature=bad)), known)
        assert refused(reader, sealed) in ("malformed", "forged")
    for levels in (b"\x05\x00", b"\x01\x00", b"\xff\xff"):
        sealed = known + key.encrypt(0, write_inside(inside._replace(levels=levels)), known)
        assert refused(reader, sealed) in ("malformed", "forged")
    assert reader.open(known + key.encrypt(0, write_inside(inside), known)).attributes == EVENT


WRONG = ("a = 7", "a BETWEEN 0 AND 3", "a >= 8", "b = 6", "a IS NULL")


def test_wrong_credentials_neither_open_nor_search_nor_answer() -> None:
    request, _ = SERVER.connection_request(0, (b"0", b"1", b"1", b"0"), b"peer", 100)
    for filter in (each for each in WRONG if each != "b = 6"):
        keys = SERVER.subscriber_keys(filter)
        assert refused(keys, SEALED) == "no-key"
        assert not keys.search(SEALED)
        assert not SERVER.search_keys(filter).search(SEALED)
        assert keys.open_request(request, 0.0) is None
    assert refused(SERVER.subscriber_keys("b = 6"), SEALED) == "no-key"
    assert not SERVER.search_keys("b = 6").search(SEALED)


def test_keys_of_another_server_or_epoch_neither_search_nor_answer() -> None:
    other, later = server(numbers(2), seed=9), server(numbers(2))
    assert not other.search_keys("a = 6").search(SEALED)
    assert not other.subscriber_keys("a = 6").search(SEALED)
    request, _ = SERVER.connection_request(0, (b"0",), b"peer", 100)
    later.begin_epoch()
    for keys in (other.subscriber_keys("a < 8"), later.subscriber_keys("a < 8")):
        with pytest.raises(UnopenedError):
            keys.open_request(request, 0.0)
    with pytest.raises(UnopenedError, match="unknown-epoch"):
        later.search_keys("a = 6").search(SEALED)


def test_requests_for_nothing_are_not_made() -> None:
    for dimension, path, expires_s in [(2, (), 9), (-1, (), 9), (0, (b"0",) * 5, 9), (0, (), -1), (0, (), 2**64)]:
        with pytest.raises(KeyRingError):
            SERVER.connection_request(dimension, path, b"peer", expires_s)
    request, _ = SERVER.connection_request(0, (b"0",), b"peer", 100)
    for expires_s in (-1, 2**63):
        with pytest.raises(UnopenedError, match="malformed"):
            ENTITLED[1].open_request(msgspec.structs.replace(request, expires_s=expires_s), 0.0)


# -- connection requests ---------------------------------------------------------------------------------


def test_requests_open_for_whoever_covers_and_the_answers_are_alike() -> None:
    path = (b"0", b"1", b"1")
    request, word = SERVER.connection_request(0, path, b"peer", 100)
    covering = [SERVER.subscriber_keys(each) for each in ("b = 1", "a < 8", "a BETWEEN 4 AND 7", "a IN (6, 7)")]
    answers = set()
    for keys in covering:
        opened = keys.open_request(request, 0.0)
        assert opened is not None
        answers.add(opened.answer(b"t", b"peer", b"parent"))
    assert answers == {word.answer(b"t", b"peer", b"parent")}
    for filter in ("a = 6", "a >= 8", "a < 4 AND b = 6"):
        assert SERVER.subscriber_keys(filter).open_request(request, 0.0) is None
    with pytest.raises(UnopenedError):
        word.check(bytes(32), b"t", b"peer", b"parent")


def test_requests_are_bound_to_peer_server_and_time_and_are_of_one_size() -> None:
    keys = SERVER.subscriber_keys("a < 8")
    requests = [SERVER.connection_request(0, path, b"peer", 100)[0] for path in ((), (b"0",), (b"0",) * 4)]
    assert len({(len(each.slots), *map(len, each.slots)) for each in requests}) == 1
    request = requests[1]
    changed = {
        "requester": b"other",
        "expires_s": 200,
        "slots": request.slots[::-1],
        "dimension": 1,
        "epoch": 2,
        "point": requests[0].point,
    }
    for name, value in changed.items():
        with pytest.raises(UnopenedError):
            keys.open_request(msgspec.structs.replace(request, **{name: value}), 0.0)
    with pytest.raises(UnopenedError):
        keys.open_request(request, 100.0)
    with pytest.raises(UnopenedError):
        keys.open_request(msgspec.structs.replace(request, slots=request.slots[:-1]), 0.0)
    assert server(numbers(2), seed=5).public != SERVER.public


def test_search_keys_do_not_open_requests() -> None:
    request, _ = SERVER.connection_request(0, (b"0",), b"peer", 100)
    conjunction = bundle_of(SERVER.subscriber_keys("a < 8")).conjunctions[0]
    sides = tuple(
        tuple(msgspec.structs.replace(key, answering=key.searching) for key in side) for side in conjunction.sides
    )
    assert mixed(ENTITLED[0], msgspec.structs.replace(conjunction, sides=sides)).open_request(request, 0.0) is None


def test_dummies_have_the_form_of_events_and_are_dropped() -> None:
    """Random bytes in all places that are random: whoever lacks keys sees no difference, nobody opens it."""
    event, groups = read_event(SEALED), find_groups()
    dummy = bytearray(SEALED)
    dummy[len(event.header) :] = shake_256(b"dummy").digest(len(SEALED) - len(event.header))
    for number, place in enumerate(every_point(SEALED), 2):
        dummy[place : place + G1_BYTES] = groups.write1(groups.times1(groups.generator1, number))
    assert {refused(each, bytes(dummy)) for each in ENTITLED} == {"no-key"}
    assert len(dummy) == len(SEALED)
