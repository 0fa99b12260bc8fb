"""The key server: makes all keys of a schema, epoch by epoch. Whoever has its file can read and sign everything.

Keys of an epoch follow from its seed, and the seed of the next from that one. `begin_epoch` forgets the old seed. What
ties keys to each other is random each time they are made, so making the same keys twice gives others.

Who may have which keys is not decided here: that is for whoever calls this.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path as FilePath

import msgspec

from siftcast.model.filter import AnyFilter, as_filter
from siftcast.security.credentials import CredentialConjunction, CredentialSchema, conjunctions_of
from siftcast.security.credentials.paths import ROOT
from siftcast.security.errors import KeyRingError
from siftcast.security.groups import EPOCH_MAX
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import Groups, find_groups
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.epoch import EpochSecrets, next_seed
from siftcast.security.hazmat.scheme.issuing import (
    SearchKey,
    issue_advertisement,
    issue_conjunction,
    searching_key,
)
from siftcast.security.hazmat.scheme.randomness import HedgedStream, Randomness
from siftcast.security.hazmat.scheme.requests import EXPIRES_S_MAX, ConnectionRequest, SecretWord, make_request
from siftcast.security.hazmat.scheme.scope import Path
from siftcast.security.hazmat.secret import SECRET_BYTES, Secret
from siftcast.security.hazmat.signatures import SigningKey
from siftcast.security.whole.bundles import (
    PublisherBundle,
    SearchBundle,
    SubscriberBundle,
    load_bytes,
    save_bytes,
    scope_of,
    write_bundle,
)
from siftcast.security.whole.publisher import PublisherKeys
from siftcast.security.whole.router import SearchKeys
from siftcast.security.whole.subscriber import SubscriberKeys

Slots = tuple[int, int]


class _State(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="key server"):
    digest: bytes
    epoch: int
    seed: bytes
    signing: bytes

    __repr__ = object.__repr__


class KeyServer(Hidden):
    """Makes keys for a schema."""

    def __init__(
        self,
        schema: CredentialSchema,
        seed: Secret,
        signing: Secret,
        *,
        epoch: int = 1,
        groups: Groups | None = None,
        random: Randomness = os.urandom,
    ) -> None:
        self.schema = schema
        self.groups = groups or find_groups()
        self.epoch = epoch
        self._random = random
        self._seed = seed
        self._signing = SigningKey(signing)
        self._issued = count(1)
        self._begin()

    @classmethod
    def begin(cls, schema: CredentialSchema) -> KeyServer:
        """A key server with secrets of its own."""
        return cls(schema, Secret(os.urandom(SECRET_BYTES)), Secret(os.urandom(SECRET_BYTES)))

    def _begin(self) -> None:
        self._secrets = EpochSecrets(self.groups, self._seed, scope_of(self.schema, self.epoch))
        self._points = self._secrets.public()

    def begin_epoch(self) -> None:
        """Goes on to the next epoch, for good: keys of this one can be made no more, and open nothing newer."""
        if self.epoch >= EPOCH_MAX:
            raise KeyRingError("there are no more epochs")
        self._seed = next_seed(self._seed)
        self.epoch += 1
        self._begin()

    @property
    def public(self) -> bytes:
        """The public key by which everybody knows what it issued."""
        return self._signing.public

    @classmethod
    def load(cls, path: FilePath | str, schema: CredentialSchema) -> KeyServer:
        """A key server from its file; raises KeyRingError."""
        try:
            state = msgspec.msgpack.decode(load_bytes(path), type=_State)
        except (msgspec.MsgspecError, ValueError) as error:
            raise KeyRingError(f"the file is not that of a key server ({error})") from None
        if state.digest != schema.digest:
            raise KeyRingError("the key server is for another schema, or for other options of it")
        if not 1 <= state.epoch <= EPOCH_MAX:
            raise KeyRingError("epochs count from 1")
        return cls(schema, Secret(state.seed), Secret(state.signing), epoch=state.epoch)

    def save(self, path: FilePath | str) -> None:
        """Puts the server's secrets into a file that only its owner can read; save again after each new epoch."""
        signing = self._signing.seed.reveal()
        state = _State(self.schema.digest, self.epoch, self._seed.reveal(), signing)
        save_bytes(msgspec.msgpack.encode(state), path)

    # -- keys ----------------------------------------------------------------------------------------

    def publisher_keys(self, filter: AnyFilter, *, during: Slots | None = None) -> PublisherKeys:
        """Keys to seal what a filter matches; raises FilterError for one that is no exact union of credentials."""
        advertisements = tuple(
            issue_advertisement(self._secrets, self._stream(b"publisher"), box) for box in self._boxes(filter, during)
        )
        label_key = self._secrets.label_key.reveal()
        bundle = PublisherBundle(self.schema.digest, self.epoch, self._points, label_key, advertisements)
        data = write_bundle(bundle, self._signing)
        return PublisherKeys(data, self.schema, self.public, groups=self.groups, random=self._random)

    def subscriber_keys(self, filter: AnyFilter, *, during: Slots | None = None) -> SubscriberKeys:
        """Keys to open what a filter matches; raises FilterError for one that is no exact union of credentials."""
        conjunctions = tuple(
            issue_conjunction(self._secrets, self._stream(b"subscriber"), box) for box in self._boxes(filter, during)
        )
        bundle = SubscriberBundle(self.schema.digest, self.epoch, self._points.signing, conjunctions)
        return SubscriberKeys(write_bundle(bundle, self._signing), self.schema, self.public, groups=self.groups)

    def search_keys(self, filter: AnyFilter, *, during: Slots | None = None) -> SearchKeys:
        """Keys to route what a filter matches; raises FilterError for one that is no exact union of credentials."""
        conjunctions = tuple(
            tuple(
                tuple(SearchKey(dimension, len(path), searching_key(self._secrets, dimension, path)) for path in side)
                for dimension, side in enumerate(box)
                if side != (ROOT,)
            )
            for box in self._boxes(filter, during)
        )
        bundle = SearchBundle(self.schema.digest, self.epoch, conjunctions)
        return SearchKeys(write_bundle(bundle, self._signing), self.schema, self.public, groups=self.groups)

    def connection_request(
        self, dimension: int, path: Path, requester: bytes, expires_s: int
    ) -> tuple[ConnectionRequest, SecretWord]:
        """A request with which a peer finds another whose credential in a dimension covers its own.

        `requester` is what the peer is known by, such as its public key. Raises KeyRingError.
        """
        if not 0 <= dimension < len(self.schema.dimensions) or len(path) > self.schema.dimensions[dimension].depth:
            raise KeyRingError("a connection request is for a credential of a dimension that the schema has")
        if not 0 <= expires_s <= EXPIRES_S_MAX:
            raise KeyRingError("a connection request expires at a time in whole seconds, from 0 on")
        return make_request(
            self._secrets,
            self._stream(b"request"),
            self._signing,
            dimension=dimension,
            path=path,
            depth=self.schema.dimensions[dimension].depth,
            requester=requester,
            expires_s=expires_s,
        )

    def _boxes(self, filter: AnyFilter, during: Slots | None) -> tuple[CredentialConjunction, ...]:
        boxes = conjunctions_of(self.schema, filter, during)
        if not boxes:
            raise KeyRingError(f'no event of the schema matches "{as_filter(filter)}", so there are no keys for it')
        return boxes

    def _stream(self, purpose: bytes) -> HedgedStream:
        number = next(self._issued).to_bytes(8, "big")
        return HedgedStream(self._seed.reveal(), self._random, enc(purpose, number))
