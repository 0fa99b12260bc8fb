"""What chapter 5 leaves open, filled in as one might: each is what one attack needs.

A16     a hash u0 u^H(id) in the place of Waters'
A17     the connection request as an event for each covering credential
A19     encryption that can be checked by doing it again, so that subscribers learn bi (Fujisaki-Okamoto, as suggested)
A20     a connection request with another word in each slot
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from siftcast.experiments.security.printed import PrintedEvent, PrintedScheme, PublisherKey, prefixes
from siftcast.experiments.security.symmetric import GENERATOR, Element


@dataclass(frozen=True, slots=True)
class LinearHash:
    """u0 u^H(id), where H is a number."""

    u0: Element
    u: Element

    def of(self, number: int) -> Element:
        """The hash of what has this number."""
        return self.u0 * self.u**number


def printed_request(scheme: PrintedScheme, credential: str) -> list[PrintedEvent]:
    """For each credential that covers one, an event of one attribute with the secret word in it."""
    return [scheme.encrypt(b"the secret word", {"A": each}) for each in prefixes(credential)]


def request_of_words(scheme: PrintedScheme, credential: str) -> dict[bytes, str]:
    """A word for each slot, and the credential that opens it: what the joining node keeps."""
    return {b"word %d" % place: each for place, each in enumerate(prefixes(credential))}


@dataclass(frozen=True, slots=True)
class CheckedEvent:
    """An event whose scalars subscribers learn, so that they can encrypt again and compare."""

    event: PrintedEvent
    scalars: Mapping[str, int]


def encrypt_checked(scheme: PrintedScheme, message: bytes, key: tuple[str, PublisherKey]) -> CheckedEvent:
    """Signs with the scalar it encrypts with, as printed, and tells it."""
    b = scheme.scalar()
    made = scheme.encrypt(message, {"A": "0110"})
    made.points["A"] = GENERATOR**b
    made.first["A"] = key[1][0] * scheme.message(message) ** b
    made.second["A"], made.credentials["A"] = key[1][1], key[0]
    return CheckedEvent(made, {"A": b})
