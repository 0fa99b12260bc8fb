"""Labels: what a credential is called under one schema, in one epoch.

A subscriber's label is keyed with the epoch's label key, which publishers have: a search key is a hash of its label, so
without the key a parent could find out by trying which credential it was handed. A publisher's label has no key,
because subscribers verify with it; it has the id of the advertisement, so that keys of two of them do not combine.

All parts are length-prefixed, and each kind of label and of hash begins with a word of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G2, Groups
from siftcast.security.hazmat.secret import Secret

Path = tuple[bytes, ...]
AID_BYTES: Final = 16
_SUITE = b"SIFTCAST-V01-BLS12381G2_XMD:SHA-256_SSWU_RO_"
TAG, REQUEST, PUBLISHER, MESSAGE, PARAMETER = (_SUITE + use for use in (b"TAG_", b"CRQ_", b"PUB_", b"MSG_", b"PAR_"))
"""Domain separation tags of all hashes to G2."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A schema by its digest, its dimensions by their names, and an epoch."""

    digest: bytes
    dimensions: tuple[bytes, ...]
    epoch: int

    def _label(self, word: bytes, dimension: int, path: Path, *more: bytes) -> bytes:
        return enc(word, self.digest, self.epoch.to_bytes(4, "big"), self.dimensions[dimension], enc(*path), *more)

    def subscriber_label(self, key: Secret, dimension: int, path: Path) -> bytes:
        """What W and the search keys of a credential are hashes of."""
        return hmac.digest(key.reveal(), self._label(b"SUB", dimension, path), "sha256")

    def publisher_label(self, aid: bytes, dimension: int, path: Path) -> bytes:
        """What a publisher's key for a credential is a hash of."""
        return self._label(b"PUB", dimension, path, aid)

    def context(self, word: bytes, *parts: bytes) -> bytes:
        """The beginning of what is hashed or bound for some use under this scope."""
        return enc(word, self.digest, self.epoch.to_bytes(4, "big"), *parts)


def dimension_names(dimensions: Sequence[tuple[str, str]]) -> tuple[bytes, ...]:
    """Names from attributes and the ways to look at them."""
    return tuple(enc(attribute.encode(), kind.encode()) for attribute, kind in dimensions)


def second_generator(groups: Groups) -> G2:
    """A point of G2 whose logarithm nobody knows."""
    return groups.hash2(PARAMETER, b"g2")


def value_hash(word: bytes, value: bytes, context: bytes) -> bytes:
    """64 bytes of a pairing's value, for one use."""
    return hashlib.sha512(enc(word, value, context)).digest()
