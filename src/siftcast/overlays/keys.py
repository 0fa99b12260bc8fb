"""The key table of lookup reuse: from the key of a subscription to the interface it came from (lookup reuse, 2.1).

A key is a 32-bit hash of the subscription's id, as the paper has it. Among 10,000 subscriptions two share one in
about one run out of a hundred, which the paper assumes away; here such a key is known to be shared and tells nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from siftcast.overlays.contract import NodeId

KEY_BYTES: Final = 4


class Local:
    """The interface towards the node's own subscribers."""

    def __repr__(self) -> str:
        return "local"


LOCAL: Final = Local()
Interface = NodeId | Local


def key_of(id: str) -> int:
    """The key of a subscription."""
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest(), "big")


class KeyTable:
    """Interfaces by key, ids by key, keys by id."""

    __slots__ = ("_interfaces", "_keys", "_owners")

    def __init__(self) -> None:
        self._interfaces: dict[int, tuple[Interface, str]] = {}
        self._owners: dict[int, list[tuple[Interface, str]]] = {}
        self._keys: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._interfaces)

    def add(self, id: str, interface: Interface) -> None:
        """Notes where a subscription came from."""
        key = self._keys[id] = key_of(id)
        owners = self._owners.setdefault(key, [])
        owners.append((interface, id))
        self._refresh(key, owners)

    def remove(self, id: str, interface: Interface) -> None:
        """Forgets a subscription."""
        key = key_of(id)
        owners = self._owners[key]
        owners.remove((interface, id))
        if not any(other == id for _, other in owners):
            del self._keys[id]
        self._refresh(key, owners)

    def _refresh(self, key: int, owners: list[tuple[Interface, str]]) -> None:
        if len(owners) == 1:
            self._interfaces[key] = owners[0]
        else:
            self._interfaces.pop(key, None)
            if not owners:
                del self._owners[key]

    def find(self, key: int) -> tuple[Interface, str] | None:
        """Interface and id of a key; None for a key that is unknown or shared."""
        return self._interfaces.get(key)

    def is_shared(self, key: int) -> bool:
        """Whether several subscriptions have this key."""
        return key in self._owners and key not in self._interfaces

    def keys(self, ids: list[str]) -> tuple[tuple[int, ...], bool]:
        """The keys of ids, and whether each of them stands for its id alone."""
        found = tuple([self._keys[id] for id in ids])
        return found, all(key in self._interfaces for key in found)
