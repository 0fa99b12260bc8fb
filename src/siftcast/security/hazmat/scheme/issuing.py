"""Keys as the key server makes them: one conjunction at a time, each with randomness of its own.

γ binds the keys of a conjunction to each other: D4 takes it away, and only the one that belongs to all of them. An
advertisement has one c in the same place, and its id in all labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from siftcast.security.hazmat.groups import ORDER
from siftcast.security.hazmat.scheme.epoch import EpochSecrets
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.scope import AID_BYTES, PUBLISHER, REQUEST, TAG, Path
from siftcast.security.hazmat.scheme.waters import exponent_of

Sides = Sequence[Sequence[Path]]
"""For each dimension the credentials of a conjunction."""


class SubscriberKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """D1, D2 open, D3 searches, D5 opens connection requests."""

    path: Path
    opening: bytes
    blinding: bytes
    searching: bytes
    answering: bytes

    __repr__ = object.__repr__


class ConjunctionKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The keys of one conjunction; `binding` is D4."""

    binding: bytes
    sides: tuple[tuple[SubscriberKey, ...], ...]

    __repr__ = object.__repr__


class PublisherKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """P1 of one credential."""

    path: Path
    signing: bytes

    __repr__ = object.__repr__


class AdvertisementKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The keys of one advertisement: its id, P2, and a key for each credential."""

    aid: bytes
    common: bytes
    sides: tuple[tuple[PublisherKey, ...], ...]

    __repr__ = object.__repr__


class SearchKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What brokers get: D3 of one credential, by its dimension and level, and not by what it is."""

    dimension: int
    level: int
    searching: bytes

    __repr__ = object.__repr__


def issue_conjunction(secrets: EpochSecrets, stream: HedgedStream, sides: Sides) -> ConjunctionKeys:
    """A subscriber's keys for one conjunction; the stream must be a fresh one."""
    groups = secrets.groups
    gamma = stream.scalar()
    blinded = groups.times2(secrets.second, gamma)
    binding = groups.times2(secrets.second, (gamma + secrets.alpha) * pow(secrets.phi, -1, ORDER))

    def key(dimension: int, path: Path) -> SubscriberKey:
        label = secrets.scope.subscriber_label(secrets.label_key, dimension, path)
        x = stream.scalar()
        twin = groups.times2(groups.generator2, x * exponent_of(secrets.first, secrets.others, label))
        return SubscriberKey(
            path,
            groups.write2(groups.sum2((blinded, twin))),
            groups.write2(groups.times2(groups.generator2, x)),
            searching_key(secrets, dimension, path),
            groups.write2(groups.times2(groups.hash2(REQUEST, label), secrets.phi_s)),
        )

    made = tuple(tuple(key(dimension, path) for path in side) for dimension, side in enumerate(sides))
    return ConjunctionKeys(groups.write2(binding), made)


def searching_key(secrets: EpochSecrets, dimension: int, path: Path) -> bytes:
    """D3 of a credential: the same for everybody."""
    label = secrets.scope.subscriber_label(secrets.label_key, dimension, path)
    return secrets.groups.write2(secrets.groups.times2(secrets.groups.hash2(TAG, label), secrets.phi_s))


def issue_advertisement(secrets: EpochSecrets, stream: HedgedStream, sides: Sides) -> AdvertisementKeys:
    """A publisher's keys for one conjunction; the stream must be a fresh one."""
    groups, scope = secrets.groups, secrets.scope
    aid, c = stream.take(AID_BYTES), stream.scalar()
    master = groups.times2(secrets.second, secrets.alpha_p)

    def key(dimension: int, path: Path) -> PublisherKey:
        hashed = groups.hash2(PUBLISHER, scope.publisher_label(aid, dimension, path))
        return PublisherKey(path, groups.write2(groups.sum2((master, groups.times2(hashed, c)))))

    made = tuple(tuple(key(dimension, path) for path in side) for dimension, side in enumerate(sides))
    return AdvertisementKeys(aid, groups.write1(groups.times1(groups.generator1, c)), made)
