"""A group: who shares a secret, epoch by epoch, and which publishers may seal for it.

Plain data and pure functions; files are `ring_files`, and what is held of several groups is a `ring`. Changes make a
new group with a higher number, so that of two copies of a file the newer is known.

- An **epoch** is a secret and the time it began. Publishers seal with the newest epoch they have. It passes for fresh
  events from then on; the one before passes for a stated grace after that, and older ones do not. Durable queues may
  hold events of any epoch, so there all epochs pass that the group still has.
- A **publisher** is a name and a public key. One that is revoked is refused in all epochs from a certain one on. An
  epoch is in the event and signed, but chosen by who seals: a revoked publisher may still seal for an old epoch, which
  then passes where old epochs do. Who must not even do that is revoked from an earlier epoch on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from siftcast.model.showing import shown
from siftcast.security.errors import KeyRingError
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import VerifyingKey

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
EPOCH_MAX = 2**32 - 1
GRACE_S = 86_400.0
"""How long the epoch before passes, unless it is said: long enough to hand files over by hand."""


def check_name(name: object) -> str:
    """The name of a group or publisher; raises KeyRingError."""
    if type(name) is not str or not NAME.fullmatch(name):
        raise KeyRingError(f"{shown(name)} is no name; names are letters, digits, '-' and '_', at most 63")
    return name


@dataclass(frozen=True, slots=True)
class Epoch:
    """A secret, since when it is there, and how long after that the epoch before passes for fresh events."""

    number: int
    secret: Secret
    since_s: float
    grace_s: float = GRACE_S


@dataclass(frozen=True, slots=True)
class GroupPublisher:
    """A publisher that may seal for a group, up to the epoch from which it is revoked."""

    name: str
    public: bytes
    revoked_from: int | None = None

    def may_seal(self, epoch: int) -> bool:
        """Whether what it seals in an epoch passes."""
        return self.revoked_from is None or epoch < self.revoked_from


@dataclass(frozen=True, slots=True)
class Group:
    """A group as of a certain change."""

    name: str
    epochs: Mapping[int, Epoch]
    publishers: Mapping[str, GroupPublisher]
    number: int = 1
    is_copy: bool = False

    @classmethod
    def begin(cls, name: str, secret: Secret, now_s: float) -> Group:
        """A group in its first epoch, for which nobody may seal yet."""
        return cls(check_name(name), {1: Epoch(1, secret, now_s, 0.0)}, {})

    @property
    def newest(self) -> Epoch:
        """The epoch that publishers seal in."""
        return self.epochs[max(self.epochs)]

    def stale_from_s(self, epoch: int) -> float:
        """From when on an epoch passes no longer for fresh events."""
        newest = self.newest
        if epoch >= newest.number:
            return float("inf")
        return newest.since_s + newest.grace_s if epoch == newest.number - 1 else float("-inf")

    def rotated(self, secret: Secret, now_s: float, *, grace_s: float = GRACE_S, keep: int | None = None) -> Group:
        """The group in its next epoch, with the newest `keep` epochs or with all of them."""
        if not 0 <= grace_s < float("inf") or (keep is not None and keep < 1):
            raise KeyRingError("the grace is a number of seconds from 0 on, and at least one epoch is kept")
        number = self.newest.number + 1
        epochs = {**self.epochs, number: Epoch(number, secret, now_s, grace_s)}
        kept = sorted(epochs)[-keep:] if keep is not None else sorted(epochs)
        return self._changed(epochs={each: epochs[each] for each in kept})

    def joined_by(self, publisher: GroupPublisher) -> Group:
        """The group with one more publisher; a name is given once, so that it always means the same key."""
        check_name(publisher.name)
        VerifyingKey(publisher.public)
        if publisher.name in self.publishers:
            raise KeyRingError(f"group '{self.name}' has a publisher '{publisher.name}' already; choose another name")
        if any(each.public == publisher.public for each in self.publishers.values()):
            raise KeyRingError(f"group '{self.name}' has a publisher with this key already")
        return self._changed(publishers={**self.publishers, publisher.name: publisher})

    def revoked(self, name: str, from_epoch: int) -> Group:
        """The group with a publisher refused from an epoch on; never from a later one than before."""
        known = self.publishers.get(name)
        if known is None:
            raise KeyRingError(f"group '{self.name}' has no publisher {shown(name)}; {self.names_of_publishers()}")
        if not 1 <= from_epoch <= self.newest.number:  # from a later one on, it would still seal
            raise KeyRingError(
                f"epochs count from 1, and group '{self.name}' is at {self.newest.number}; "
                f"nobody is revoked from epoch {from_epoch} on"
            )
        if not known.may_seal(from_epoch):
            raise KeyRingError(f"publisher '{name}' is revoked from epoch {known.revoked_from} on already")
        return self._changed(publishers={**self.publishers, name: replace(known, revoked_from=from_epoch)})

    def copy(self) -> Group:
        """The same group for others, who cannot change it."""
        return replace(self, is_copy=True)

    def names_of_publishers(self) -> str:
        """Who may seal, in words."""
        return f"there are {', '.join(sorted(self.publishers))}" if self.publishers else "nobody may seal for it yet"

    def _changed(
        self,
        epochs: Mapping[int, Epoch] | None = None,
        publishers: Mapping[str, GroupPublisher] | None = None,
    ) -> Group:
        if self.is_copy:
            hint = "change it where it was made, and issue it again"
            raise KeyRingError(f"this is a copy of group '{self.name}'; {hint}")
        return replace(
            self,
            number=self.number + 1,
            epochs=self.epochs if epochs is None else epochs,
            publishers=self.publishers if publishers is None else publishers,
        )
