"""Routing without reading: what brokers do with search keys.

A search key says of an event whether it has one credential in one dimension. It is the same for everybody who asked for
that credential, and not bound to a conjunction: who has it learns that one value matches, even of events that nobody
behind it may open.
"""

from __future__ import annotations

from pathlib import Path as FilePath

from siftcast.security.credentials import CredentialSchema
from siftcast.security.hazmat.groups import Groups, find_groups
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.encryption import search
from siftcast.security.whole.body import read_under
from siftcast.security.whole.bundles import SearchBundle, load_bytes, read_bundle, save_bytes, scope_of


class SearchKeys(Hidden):
    """What a broker routes by for a subscription, in one epoch. It knows levels, and not the credentials."""

    def __init__(self, data: bytes, schema: CredentialSchema, server: bytes, *, groups: Groups | None = None) -> None:
        """From bytes that the key server with this public key issued; raises KeyRingError and PointError."""
        bundle = read_bundle(data, SearchBundle, schema, server)
        self.groups = groups or find_groups()
        self.schema = schema
        self.epoch = bundle.epoch
        self._data = data
        self._scope = scope_of(schema, bundle.epoch)
        self._conjunctions = [
            [[(key, self.groups.read2(key.searching)) for key in side] for side in sides]
            for sides in bundle.conjunctions
        ]

    @classmethod
    def load(cls, path: FilePath | str, schema: CredentialSchema, server: bytes) -> SearchKeys:
        """Keys from a file; raises KeyRingError."""
        return cls(load_bytes(path), schema, server)

    def save(self, path: FilePath | str) -> None:
        """Puts the keys into a file that only its owner can read."""
        save_bytes(self._data, path)

    def search(self, sealed: bytes) -> bool:
        """Whether an event has a credential of each side of a conjunction; raises UnopenedError for what is no event.

        At most one pairing for each distinct key.
        """
        event = read_under(self.schema, self.epoch, sealed)
        found: dict[bytes, bool] = {}
        for sides in self._conjunctions:
            for side in sides:
                for key, point in side:
                    if key.searching not in found:
                        found[key.searching] = search(self.groups, self._scope, event, key.dimension, key.level, point)
                    if found[key.searching]:
                        break
                else:
                    break
            else:
                return True
        return False
