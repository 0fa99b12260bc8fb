"""Sealing. A publisher has advertisements: conjunctions of credentials, one of which must cover the whole event."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha512
from itertools import count
from pathlib import Path as FilePath

from siftcast.model import EventError
from siftcast.security.credentials import CredentialSchema, Leaves
from siftcast.security.credentials.paths import covers
from siftcast.security.errors import SealError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G1, G2, Groups, find_groups
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.encryption import Encrypter
from siftcast.security.hazmat.scheme.epoch import SealingEpoch
from siftcast.security.hazmat.scheme.event_form import EventInside, Signature, write_inside
from siftcast.security.hazmat.scheme.issuing import AdvertisementKeys
from siftcast.security.hazmat.scheme.randomness import HedgedStream, Randomness
from siftcast.security.hazmat.scheme.scope import Path
from siftcast.security.hazmat.scheme.signing import message_point, sign
from siftcast.security.hazmat.secret import Secret
from siftcast.security.whole.body import write_body
from siftcast.security.whole.bundles import PublisherBundle, load_bytes, read_bundle, save_bytes, scope_of

_RUN_BYTES = 8
_NO_SIGNATURE = Signature(b"", b"", b"")


class _Advertisement(Hidden):
    """An advertisement, its points read."""

    __slots__ = ("aid", "common", "sides")

    def __init__(self, groups: Groups, keys: AdvertisementKeys) -> None:
        self.aid = keys.aid
        self.common: G1 = groups.read1(keys.common)
        self.sides = [[(key.path, groups.read2(key.signing)) for key in side] for side in keys.sides]

    def keys_for(self, leaves: Leaves) -> list[tuple[Path, G2]] | None:
        """A credential and its key for each dimension, the longest that covers; None if one is missing."""
        chosen = []
        for side, leaf in zip(self.sides, leaves, strict=True):
            fitting = [entry for entry in side if covers(entry[0], leaf)]
            if not fitting:
                return None
            chosen.append(max(fitting, key=lambda entry: len(entry[0])))
        return chosen


class PublisherKeys(Hidden):
    """What a publisher seals with in one epoch."""

    def __init__(
        self,
        data: bytes,
        schema: CredentialSchema,
        server: bytes,
        *,
        groups: Groups | None = None,
        random: Randomness = os.urandom,
    ) -> None:
        """From bytes that the key server with this public key issued; raises KeyRingError and PointError."""
        bundle = read_bundle(data, PublisherBundle, schema, server)
        self.groups = groups or find_groups()
        self.schema = schema
        self.epoch = bundle.epoch
        self._data = data
        self._random = random
        epoch = SealingEpoch(self.groups, scope_of(schema, bundle.epoch), bundle.points, Secret(bundle.label_key))
        self._scope = epoch.scope
        self._encrypter = Encrypter(epoch)
        self._advertisements = [_Advertisement(self.groups, each) for each in bundle.advertisements]
        self._hedge = sha512(data).digest()
        self._begin_run()

    @classmethod
    def load(cls, path: FilePath | str, schema: CredentialSchema, server: bytes) -> PublisherKeys:
        """Keys from a file; raises KeyRingError."""
        return cls(load_bytes(path), schema, server)

    def save(self, path: FilePath | str) -> None:
        """Puts the keys into a file that only its owner can read."""
        save_bytes(self._data, path)

    def _begin_run(self) -> None:
        self._process = os.getpid()
        self._run, self._numbers = self._random(_RUN_BYTES), count(1)

    def seal(self, attributes: Mapping[str, object], payload: bytes = b"", *, slot: int | None = None) -> bytes:
        """An event, sealed. `slot` is the time slot that it is, under a schema that has them.

        Raises EventError for values that have no credentials, and SealError for an event that no advertisement covers.
        """
        if (slot is None) is not (self.schema.slots is None):
            raise EventError("an event has a time slot if and only if its schema has time slots")
        values = self.schema.values(attributes)
        leaves = self.schema.leaves(values, slot)
        for advertisement in self._advertisements:
            keys = advertisement.keys_for(leaves)
            if keys is not None:
                return self._seal(advertisement, keys, leaves, write_body(self.schema, values, slot, payload))
        raise SealError("no advertisement of the publisher covers the event, so nobody would take it")

    def _seal(self, advertised: _Advertisement, keys: list[tuple[Path, G2]], leaves: Leaves, body: bytes) -> bytes:
        if os.getpid() != self._process:  # a child of a fork would give the numbers of its parent once more
            self._begin_run()
        run, number = self._run, next(self._numbers)
        purpose = enc(advertised.aid, run, number.to_bytes(8, "big"), body)
        stream = HedgedStream(self._hedge, self._random, purpose)
        made = self._encrypter.encrypt(stream, leaves)
        credentials = [path for path, _ in keys]
        levels = bytes(map(len, credentials))
        bare = EventInside(advertised.aid, run, number, _NO_SIGNATURE, levels, body)
        message = message_point(self.groups, self._scope, made.hash, bare, credentials)
        signature = sign(self.groups, stream, [key for _, key in keys], advertised.common, message)
        inside = write_inside(bare._replace(signature=signature))
        known = made.header + made.key.commitment
        return known + made.key.encrypt(0, inside, known)
