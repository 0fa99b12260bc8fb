"""Attacks on the printed scheme, each as what an attacker computes. A test says who that is, and that it works.

They are given what the attacker has: public points, events, keys of its own. The scheme that is handed to them is used
for its public functions only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from siftcast.experiments.security.linear import affine_combination
from siftcast.experiments.security.printed import PrintedEvent, PrintedScheme, PublisherKey, SubscriberKey, prefixes
from siftcast.experiments.security.symmetric import GENERATOR, GROUPS, Element, pair, product
from siftcast.experiments.security.variants import LinearHash


def all_credentials(levels: int) -> list[str]:
    """Of a binary attribute, but for the empty one."""
    return [format(value, f"0{length}b") for length in range(1, levels + 1) for value in range(1 << length)]


def claim_more(scheme: PrintedScheme, key: PublisherKey, claimed: dict[str, str], message: bytes) -> PrintedEvent:
    """A2: with the key of the first claimed credential alone; the product check takes it."""
    names, hashed = list(claimed), scheme.message(message)
    event = scheme.encrypt(message, dict.fromkeys(names, "0110"))
    event.credentials = dict(claimed)
    for place, name in enumerate(names):
        b, c = scheme.scalar(), scheme.scalar()
        event.points[name] = GENERATOR**b
        if place:
            own = scheme.waters(claimed[name], name, "PUB") ** c
            event.first[name], event.second[name] = own * hashed**b, GENERATOR**c
        else:
            event.first[name], event.second[name] = key[0] ** len(names) * hashed**b, key[1] ** len(names)
    return event


def extend_signature(scheme: PrintedScheme, seen: PrintedEvent, message: bytes) -> PrintedEvent:
    """A2, without any key: a signature on a message that was seen, extended to another attribute."""
    b, c = scheme.scalar(), scheme.scalar()
    made = replace(seen, credentials={"A": seen.credentials["A"], "Z": "1"})
    made.points = {"A": seen.points["A"] ** 2, "Z": GENERATOR**b}
    own = scheme.waters("1", "Z", "PUB") ** c * scheme.message(message) ** b
    made.first = {"A": seen.first["A"] ** 2, "Z": own}
    made.second = {"A": seen.second["A"] ** 2, "Z": GENERATOR**c}
    return made


def shift_and_swap(seen: PrintedEvent, shift: Element) -> PrintedEvent:
    """A2, without any key: parts moved from one attribute to another."""
    first = {"A": seen.first["A"] * shift, "B": seen.first["B"] / shift}
    return replace(seen, first=first, points={"A": seen.points["B"], "B": seen.points["A"]})


def read_value(scheme: PrintedScheme, event: PrintedEvent, attribute: str) -> str:
    """A3, without any key: e(CTi, W) = e(g, CTij) tells which credential a level has."""
    value = ""
    for level in event.levels[attribute]:
        wanted = pair(GENERATOR, level)
        value += next(
            bit
            for bit in "01"
            if GROUPS.same(pair(event.points[attribute], scheme.waters(value + bit, attribute, "SUB")), wanted)
        )
    return value


def read_tags(scheme: PrintedScheme, event: PrintedEvent) -> str:
    """A4, without any key: in an event of one attribute, CT2 = h^b1 opens the tags."""
    value = ""
    for tag in event.tags["A"]:
        value += next(
            bit for bit in "01" if scheme.h4(pair(scheme.h3(scheme.waters(value + bit, "A", "SUB")), event.ct2)) == tag
        )
    return value


def guess_search_key(scheme: PrintedScheme, searching: Element, levels: int) -> list[str]:
    """A5: whose search key is it? e(g, D3) = e(h, H3(W))."""
    value = pair(searching, GENERATOR)
    return [
        each
        for each in all_credentials(levels)
        if GROUPS.same(pair(scheme.h, scheme.h3(scheme.waters(each, "A", "SUB"))), value)
    ]


def confirm_message(scheme: PrintedScheme, event: PrintedEvent, guesses: Iterable[bytes]) -> list[bytes]:
    """A6, without any key: the signature says which guess of the message is right."""
    return [guess for guess in guesses if scheme.verify_one(event, guess, "A")]


def key_by_combination(
    scheme: PrintedScheme, keys: dict[str, PublisherKey], attribute: str, wanted: tuple[str, str]
) -> PublisherKey | None:
    """A8: from keys with one gamma, more of them than H1 has bits, the key for any credential of any attribute."""
    vectors = [scheme.bits_of(b"1", scheme.name(each, attribute, "PUB")) for each in keys]
    found = affine_combination(vectors, scheme.bits_of(b"1", scheme.name(*wanted, "PUB")))
    if found is None:
        return None
    parts = [key[0] ** coefficient for key, coefficient in zip(keys.values(), found, strict=True) if coefficient]
    return product(parts), next(iter(keys.values()))[1]


def level_by_combination(scheme: PrintedScheme, event: PrintedEvent, value: str, wanted: str) -> Element | None:
    """A8: from levels under one bi, more of them than H1 has bits, the level of any credential."""
    names = prefixes(value)
    vectors = [scheme.bits_of(b"1", scheme.name(each, "A", "SUB")) for each in names]
    found = affine_combination(vectors, scheme.bits_of(b"1", scheme.name(wanted, "A", "SUB")))
    if found is None:
        return None
    return product(
        level**coefficient for level, coefficient in zip(event.levels["A"], found, strict=True) if coefficient
    )


def sign_again(scheme: PrintedScheme, event: PrintedEvent, message: bytes) -> PrintedEvent:
    """A10, without any key: another valid signature on a message that is known."""
    more, gamma = scheme.scalar(), scheme.scalar()
    w = scheme.waters(event.credentials["A"], "A", "PUB")
    made = replace(event)
    made.first = {**event.first, "A": event.first["A"] * scheme.message(message) ** more * w**gamma}
    made.points = {**event.points, "A": event.points["A"] * GENERATOR**more}
    made.second = {**event.second, "A": event.second["A"] * GENERATOR**gamma}
    return made


def search_key_from_hash(scheme: PrintedScheme, credential: str) -> Element:
    """A13, without any key: where H3 is g^hash, h^hash is the search key."""
    return scheme.h ** scheme.h3_exponent(scheme.waters(credential, "A", "SUB"))


def flip(event: PrintedEvent) -> PrintedEvent:
    """A14: a bit of the ciphertext."""
    return replace(event, ct3=bytes((event.ct3[0] ^ 1,)) + event.ct3[1:])


def spoil(event: PrintedEvent, level: int, junk: Element) -> PrintedEvent:
    """A15: one level, so that only holders of its credential fail."""
    levels = list(event.levels["A"])
    levels[level - 1] = junk
    return replace(event, levels={**event.levels, "A": levels})


def third_level(hashed: LinearHash, levels: dict[int, Element], wanted: int, inverse_of: int) -> Element:
    """A16: from two levels under one b, that of any other; `inverse_of` is one over their difference."""
    (one, first), (_, second) = levels.items()
    return first * (second / first) ** (inverse_of * (wanted - one))


def read_request(scheme: PrintedScheme, slots: Iterable[PrintedEvent], levels: int) -> list[str]:
    """A17, without any key: the covering credentials, of which the longest is the requester's."""
    found = []
    for slot in slots:
        for each in all_credentials(levels):
            value = pair(slot.points["A"], scheme.waters(each, "A", "SUB"))
            if GROUPS.same(value, pair(GENERATOR, slot.levels["A"][-1])):
                found.append(each)
    return found


def publisher_key_of(scheme: PrintedScheme, event: PrintedEvent, message: bytes, b: int) -> Element:
    """A19: whoever learns bi has the publisher's key."""
    return event.first["A"] / scheme.message(message) ** b


def opens_spoiled(scheme: PrintedScheme, event: PrintedEvent, keys: Iterable[SubscriberKey]) -> list[bool]:
    """A15: who reacts."""
    return [scheme.decrypt(event, key) is not None for key in keys]
