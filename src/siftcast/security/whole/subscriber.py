"""Opening. A subscriber has conjunctions of credentials; keys of one say nothing together with those of another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import NamedTuple

import msgspec

from siftcast.model.values import Value
from siftcast.security.credentials import CredentialSchema
from siftcast.security.credentials.paths import ROOT, covers
from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.groups import G2, Groups, find_groups
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.encryption import OpeningKeys, decrypt_key, search
from siftcast.security.hazmat.scheme.epoch import VerifyingEpoch
from siftcast.security.hazmat.scheme.event_form import SealedEvent, header_hash, read_inside
from siftcast.security.hazmat.scheme.issuing import ConjunctionKeys, SubscriberKey
from siftcast.security.hazmat.scheme.requests import ConnectionRequest, SecretWord, open_request
from siftcast.security.hazmat.scheme.scope import Path
from siftcast.security.hazmat.scheme.signing import SignatureVerifier
from siftcast.security.hazmat.signatures import VerifyingKey
from siftcast.security.whole.body import Body, read_body, read_under
from siftcast.security.whole.bundles import SubscriberBundle, load_bytes, read_bundle, save_bytes, scope_of


class OpenedEvent(msgspec.Struct, frozen=True, gc=False):
    """What a publisher sealed, and under which of its advertisements; `run` and `number` are for `Replays`."""

    attributes: dict[str, Value | None]
    payload: bytes
    advertisement: bytes
    run: bytes
    number: int

    __repr__ = object.__repr__  # what it says is not for logs


class _Key(NamedTuple):
    """The keys of one credential, their points read."""

    path: Path
    opening: OpeningKeys
    searching: G2


class _Conjunction(Hidden):
    __slots__ = ("binding", "sides")

    def __init__(self, groups: Groups, keys: ConjunctionKeys) -> None:
        self.binding = groups.read2(keys.binding)
        self.sides = [[_read_key(groups, key) for key in side] for side in keys.sides]

    @property
    def is_single(self) -> bool:
        """Whether there is nothing to choose."""
        return all(len(side) == 1 for side in self.sides)


def _read_key(groups: Groups, key: SubscriberKey) -> _Key:
    opening = OpeningKeys(len(key.path), groups.minus2(groups.read2(key.opening)), groups.read2(key.blinding))
    return _Key(key.path, opening, groups.read2(key.searching))


class SubscriberKeys(Hidden):
    """What a subscriber opens with in one epoch."""

    def __init__(self, data: bytes, schema: CredentialSchema, server: bytes, *, groups: Groups | None = None) -> None:
        """From bytes that the key server with this public key issued; raises KeyRingError and PointError."""
        bundle = read_bundle(data, SubscriberBundle, schema, server)
        self.groups = groups or find_groups()
        self.schema = schema
        self.epoch = bundle.epoch
        self._data = data
        self._server = VerifyingKey(server)
        self._scope = scope_of(schema, bundle.epoch)
        self._conjunctions = [_Conjunction(self.groups, each) for each in bundle.conjunctions]
        self._answering = {
            (dimension, key.path): self.groups.read2(key.answering)
            for each in bundle.conjunctions
            for dimension, side in enumerate(each.sides)
            for key in side
        }
        self._verifier = SignatureVerifier(VerifyingEpoch(self.groups, self._scope, bundle.signing))

    @classmethod
    def load(cls, path: FilePath | str, schema: CredentialSchema, server: bytes) -> SubscriberKeys:
        """Keys from a file; raises KeyRingError."""
        return cls(load_bytes(path), schema, server)

    def save(self, path: FilePath | str) -> None:
        """Puts the keys into a file that only its owner can read."""
        save_bytes(self._data, path)

    def open(self, sealed: bytes) -> OpenedEvent:
        """What was sealed, by a publisher that may; raises UnopenedError."""
        event = read_under(self.schema, self.epoch, sealed)
        chosen, inside_bytes = self._decrypt(event)
        inside = read_inside(inside_bytes, len(self.schema.dimensions))
        body = read_body(self.schema, inside.body)
        credentials = _credentials_of(inside.levels, body)
        if not all(covers(key.path, leaf) for key, leaf in zip(chosen, body.leaves, strict=True)):
            raise UnopenedError("forged", "the event's values are not those that it was sealed for")
        self._verifier.verify(inside, header_hash(event.header), credentials)
        attributes = dict(zip(self.schema.by_attribute, body.values, strict=True))
        return OpenedEvent(attributes, body.payload, inside.aid, inside.run, inside.number)

    def search(self, sealed: bytes) -> bool:
        """Whether a conjunction fits, as far as tags tell; raises UnopenedError for what is no event."""
        event = read_under(self.schema, self.epoch, sealed)
        found: dict[tuple[int, Path], bool] = {}
        return any(self._choose(event, each, found) is not None for each in self._conjunctions)

    def open_request(self, request: ConnectionRequest, now_s: float) -> SecretWord | None:
        """The word of a joining peer's request, if one of the credentials covers that peer's; raises UnopenedError."""
        if not 0 <= request.dimension < len(self.schema.dimensions):
            raise UnopenedError("malformed", "the connection request is for a dimension that the schema does not have")
        answering = [(dimension, key) for (dimension, _), key in self._answering.items()]
        depth = self.schema.dimensions[request.dimension].depth
        return open_request(
            self.groups, self._scope, request, self._server, answering=answering, depth=depth, now_s=now_s
        )

    def _decrypt(self, event: SealedEvent) -> tuple[Sequence[_Key], bytes]:
        """The keys that fit, and what was encrypted."""
        found: dict[tuple[int, Path], bool] = {}
        only = len(self._conjunctions) == 1 and self._conjunctions[0].is_single
        for conjunction in self._conjunctions:
            keys = [side[0] for side in conjunction.sides] if only else self._choose(event, conjunction, found)
            if keys is None:
                continue
            try:
                key = decrypt_key(self.groups, event, conjunction.binding, [each.opening for each in keys])
            except UnopenedError as error:
                if error.reason != "no-key":
                    raise
                continue  # a publisher can make tags that promise what its event does not keep
            return keys, key.decrypt(0, event.ciphertext, event.header + event.commitment)
        raise UnopenedError("no-key", "none of the keys is for this event, or it was altered")

    def _choose(
        self, event: SealedEvent, conjunction: _Conjunction, found: dict[tuple[int, Path], bool]
    ) -> list[_Key] | None:
        """For each dimension the key whose tag the event has; None if one is missing."""
        chosen = []
        for dimension, side in enumerate(conjunction.sides):
            key = next((each for each in side if self._has(event, dimension, each, found)), None)
            if key is None:
                return None
            chosen.append(key)
        return chosen

    def _has(self, event: SealedEvent, dimension: int, key: _Key, found: dict[tuple[int, Path], bool]) -> bool:
        if key.path == ROOT:  # all events have it
            return True
        known = found.get((dimension, key.path))
        if known is None:
            level = key.opening.level
            known = search(self.groups, self._scope, event, dimension, level, key.searching)
            found[dimension, key.path] = known
        return known


def _credentials_of(levels: bytes, body: Body) -> list[Path]:
    """The publisher's credentials: beginnings of the values' paths, so that they cover the values."""
    if any(level > len(leaf) for level, leaf in zip(levels, body.leaves, strict=True)):
        raise UnopenedError("malformed", "a credential of the publisher is longer than the path of the value")
    return [leaf[:level] for level, leaf in zip(levels, body.leaves, strict=True)]
