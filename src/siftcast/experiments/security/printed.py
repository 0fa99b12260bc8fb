"""Chapter 5 as printed: setup, keys, events, decryption, search, verification.

    W(id) = u′ Π u_k over the bits of H1(id)          id = credential || attribute || PUB|SUB || epoch, run together
    event   CT1 = e(g1,g2)^b SK, CT2 = h^b, CT3 = cipher_SK(M || 0…0), CTi = g^bi, CTij = W^bi
            CT'ij = H4(e(H3(W), h^bi)), S1 = P1 Mh^bi, S2 = P2

SK has to be an element that pairings come to, since it is multiplied with one. The cipher is a key stream, as a block
cipher in counter mode is, and the zeros behind M are what shows a subscriber that it decrypted. `bits` says how long H1
is; it is smaller than printed where an attack has to be fast.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from siftcast.experiments.security.symmetric import GENERATOR, GROUPS, Element, inverse, pair, product, values
from siftcast.security.hazmat.groups import GT, ORDER

ZEROS = bytes(16)


def prefixes(value: str) -> list[str]:
    """The credentials of a value; chapter 5 leaves the empty one out."""
    return [value[:length] for length in range(1, len(value) + 1)]


@dataclass(slots=True)
class PrintedEvent:
    """A ciphertext and its signature, by attribute."""

    ct1: GT
    ct2: Element
    ct3: bytes
    points: dict[str, Element]
    levels: dict[str, list[Element]]
    tags: dict[str, list[bytes]]
    first: dict[str, Element] = field(default_factory=dict)
    second: dict[str, Element] = field(default_factory=dict)
    credentials: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SubscriberKey:
    """Pr of a subscription: D4, and D1, D2, D3 for each attribute's credential."""

    binding: Element
    credentials: dict[str, str]
    opening: dict[str, tuple[Element, Element]]
    searching: dict[str, Element]


PublisherKey = tuple[Element, Element]


class PrintedScheme:
    """The key server and the algorithms of everybody."""

    def __init__(self, random: Random, bits: int = 64) -> None:
        self._random = random
        self.bits = bits
        self.alpha, self.phi = self.scalar(), self.scalar()
        self.g1, self.h = GENERATOR**self.alpha, GENERATOR**self.phi
        self.g2 = self.element()
        self.u = [self.element() for _ in range(bits + 1)]
        self.m = [self.element() for _ in range(bits + 1)]
        self.master = self.g2**self.alpha
        self.opened = pair(self.g1, self.g2)

    def scalar(self) -> int:
        """A random one."""
        return self._random.randrange(1, ORDER)

    def element(self) -> Element:
        """A random one."""
        return GENERATOR ** self.scalar()

    # -- hashes --------------------------------------------------------------------------------------

    def name(self, credential: str, attribute: str, role: str, epoch: str = "1") -> bytes:
        """What is hashed for a credential: its parts run together."""
        return (credential + attribute + role + epoch).encode()

    def bits_of(self, word: bytes, data: bytes) -> list[int]:
        """The bits of H1 or H2."""
        digest = int.from_bytes(hashlib.shake_256(word + data).digest((self.bits + 7) // 8), "little")
        return [digest >> place & 1 for place in range(self.bits)]

    def waters(self, credential: str, attribute: str, role: str) -> Element:
        """W of a credential."""
        return _hashed(self.u, self.bits_of(b"1", self.name(credential, attribute, role)))

    def message(self, message: bytes) -> Element:
        """Mh."""
        return _hashed(self.m, self.bits_of(b"2", message))

    def h3(self, element: Element) -> Element:
        """To an element; see `symmetric`."""
        return GENERATOR ** self.h3_exponent(element)

    def h3_exponent(self, element: Element) -> int:
        """What makes A13 possible."""
        return int.from_bytes(hashlib.sha512(b"3" + element.to_bytes()).digest(), "big") % ORDER

    def h4(self, value: GT) -> bytes:
        """To a tag."""
        return hashlib.sha256(b"4" + GROUPS.write_value(value)).digest()

    # -- keys ----------------------------------------------------------------------------------------

    def publisher_key(self, credential: str, attribute: str, gamma: int | None = None) -> PublisherKey:
        """Pr_p of a credential."""
        c = self.scalar() if gamma is None else gamma
        return self.master * self.waters(credential, attribute, "PUB") ** c, GENERATOR**c

    def subscriber_key(self, credentials: Mapping[str, str]) -> SubscriberKey:
        """Pr_s of a conjunction."""
        gamma = self.scalar()
        binding = self.g2 ** ((gamma + self.alpha) * pow(self.phi, -1, ORDER))
        key = SubscriberKey(binding, dict(credentials), {}, {})
        for attribute, credential in credentials.items():
            w, x = self.waters(credential, attribute, "SUB"), self.scalar()
            key.opening[attribute] = self.g2**gamma * w**x, GENERATOR**x
            key.searching[attribute] = self.h3(w) ** self.phi
        return key

    # -- events --------------------------------------------------------------------------------------

    def encrypt(
        self, message: bytes, event: Mapping[str, str], keys: Mapping[str, tuple[str, PublisherKey]] | None = None
    ) -> PrintedEvent:
        """Signed with a credential and its key for each attribute, if there are any."""
        scalars = {attribute: self.scalar() for attribute in event}
        total = sum(scalars.values())
        secret = GROUPS.power(self.opened, self.scalar())
        made = PrintedEvent(
            GROUPS.product(GROUPS.power(self.opened, total), secret),
            self.h**total,
            _cipher(secret, message + ZEROS),
            {attribute: GENERATOR**b for attribute, b in scalars.items()},
            {},
            {},
        )
        for attribute, value in event.items():
            b = scalars[attribute]
            elements = [self.waters(credential, attribute, "SUB") for credential in prefixes(value)]
            made.levels[attribute] = [w**b for w in elements]
            made.tags[attribute] = [self.h4(pair(self.h3(w), self.h**b)) for w in elements]
        for attribute, (credential, (first, second)) in (keys or {}).items():
            made.first[attribute] = first * self.message(message) ** scalars[attribute]
            made.second[attribute], made.credentials[attribute] = second, credential
        return made

    def decrypt(self, event: PrintedEvent, key: SubscriberKey) -> bytes | None:
        """M, or None where the zeros are not there; equation 5.1."""
        factors = [event.ct1, inverse(pair(event.ct2, key.binding))]
        for attribute, (first, second) in key.opening.items():
            if attribute not in event.points:
                continue  # as printed: the product is over the attributes of the event
            level = event.levels[attribute][len(key.credentials[attribute]) - 1]
            factors += [pair(first, event.points[attribute]), inverse(pair(second, level))]
        plain = _cipher(values(factors), event.ct3)
        return plain[: -len(ZEROS)] if plain.endswith(ZEROS) else None

    def search(self, event: PrintedEvent, searching: Element, attribute: str, level: int) -> bool:
        """Equation 5.16."""
        return self.h4(pair(searching, event.points[attribute])) == event.tags[attribute][level - 1]

    # -- verification --------------------------------------------------------------------------------

    def verify_one(self, event: PrintedEvent, message: bytes, attribute: str) -> bool:
        """Equation 5.2."""
        w = self.waters(event.credentials[attribute], attribute, "PUB")
        right = values(
            [self.opened, pair(w, event.second[attribute]), pair(self.message(message), event.points[attribute])]
        )
        return GROUPS.same(pair(event.first[attribute], GENERATOR), right)

    def verify_combined(self, event: PrintedEvent, message: bytes) -> bool:
        """All attributes at once, as printed: e(Π W, Π S2), cross terms and all."""
        names = list(event.credentials)
        ws = product(self.waters(event.credentials[each], each, "PUB") for each in names)
        return self._verify(event, message, [pair(ws, product(event.second[each] for each in names))])

    def verify_product(self, event: PrintedEvent, message: bytes) -> bool:
        """The same with the terms put right: Π e(W, S2). Honest events pass, and so does much else."""
        terms = [
            pair(self.waters(credential, each, "PUB"), event.second[each])
            for each, credential in event.credentials.items()
        ]
        return self._verify(event, message, terms)

    def _verify(self, event: PrintedEvent, message: bytes, terms: Sequence[GT]) -> bool:
        names = list(event.credentials)
        points = product(event.points[each] for each in names)
        right = values([GROUPS.power(self.opened, len(names)), *terms, pair(self.message(message), points)])
        return GROUPS.same(pair(product(event.first[each] for each in names), GENERATOR), right)


def _hashed(points: Sequence[Element], bits: Sequence[int]) -> Element:
    return product([points[0], *(point for point, bit in zip(points[1:], bits, strict=True) if bit)])


def _cipher(secret: GT, data: bytes) -> bytes:
    stream = hashlib.shake_256(b"5" + GROUPS.write_value(secret)).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream, strict=True))
