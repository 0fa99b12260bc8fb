"""Keys as the key server hands them out: bytes that it signed, in files that only their owner can read.

A bundle is for one epoch and one schema. It opens only if the key server whose public key one has got by a safe way
signed it, and points in it are checked like all others. Whoever holds a bundle holds the rights in it: it is handed
over by a way that nobody else reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from siftcast.security.credentials import CredentialSchema
from siftcast.security.errors import KeyRingError, UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.scheme.epoch import PublicPoints
from siftcast.security.hazmat.scheme.issuing import AdvertisementKeys, ConjunctionKeys, SearchKey
from siftcast.security.hazmat.scheme.scope import Scope, dimension_names
from siftcast.security.hazmat.signatures import SIGNATURE_BYTES, SigningKey, VerifyingKey
from siftcast.security.ring_files import read_private, write_private


class PublisherBundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="publisher"):
    """All that a publisher seals with in an epoch."""

    digest: bytes
    epoch: int
    points: PublicPoints
    label_key: bytes
    advertisements: tuple[AdvertisementKeys, ...]

    __repr__ = object.__repr__


class SubscriberBundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="subscriber"):
    """All that a subscriber opens with in an epoch."""

    digest: bytes
    epoch: int
    signing: bytes
    conjunctions: tuple[ConjunctionKeys, ...]

    __repr__ = object.__repr__


class SearchBundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="search"):
    """What a broker routes by: for each conjunction, the search keys of each dimension that it constrains."""

    digest: bytes
    epoch: int
    conjunctions: tuple[tuple[tuple[SearchKey, ...], ...], ...]

    __repr__ = object.__repr__


Bundle = PublisherBundle | SubscriberBundle | SearchBundle
_Bundle = TypeVar("_Bundle", PublisherBundle, SubscriberBundle, SearchBundle)
_CONTEXT = b"siftcast issued keys 1"


def scope_of(schema: CredentialSchema, epoch: int) -> Scope:
    """What labels of an epoch belong to."""
    return Scope(schema.digest, dimension_names([(each.attribute, each.kind) for each in schema.dimensions]), epoch)


def write_bundle(bundle: Bundle, signing: SigningKey) -> bytes:
    """A bundle as bytes, signed."""
    body = msgspec.msgpack.encode(bundle)
    return signing.sign(enc(_CONTEXT, body)) + body


def read_bundle(data: bytes, kind: type[_Bundle], schema: CredentialSchema, server: bytes) -> _Bundle:
    """A bundle that the server signed, for this schema; raises KeyRingError."""
    body = data[SIGNATURE_BYTES:]
    try:
        VerifyingKey(server).verify(data[:SIGNATURE_BYTES], enc(_CONTEXT, body))
    except UnopenedError:
        raise KeyRingError("the keys were not issued by this key server, or were altered") from None
    try:
        bundle = msgspec.msgpack.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise KeyRingError(
            f"the keys are not those of a {kind.__name__.removesuffix('Bundle').lower()} ({error})"
        ) from None
    if bundle.digest != schema.digest:
        raise KeyRingError("the keys are for another schema, or for other options of it")
    return bundle


def save_bytes(data: bytes, path: Path | str) -> None:
    """Puts keys into a file that only its owner can read."""
    write_private(Path(path), data)


def load_bytes(path: Path | str) -> bytes:
    """What is in such a file; raises KeyRingError."""
    return read_private(Path(path))
