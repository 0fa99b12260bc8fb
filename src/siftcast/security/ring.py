"""A key ring: the groups that somebody is a member of, and the key they sign with, if they publish.

A ring that was loaded from a folder looks at its files now and then, and whenever something names an epoch, a group or
a publisher that it does not know, so that a rotation needs no restart. A file that cannot be used then changes nothing:
the ring goes on with what it has, and says so once. Nor is a group taken whose number is lower than before, because an
old file would bring revoked publishers back. One whose file is gone is kept: it may be about to be replaced, and events
of durable queues that come meanwhile would be acknowledged unread.

Looking is limited to once a second, whoever asks: an event of others must not be able to keep a disk busy.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import NoReturn

from siftcast.model.showing import given
from siftcast.model.values import is_text
from siftcast.security.errors import KeyRingError, SealError
from siftcast.security.groups import Group, GroupPublisher
from siftcast.security.hazmat.derivation import EpochKey
from siftcast.security.hazmat.envelope import RUN_BYTES
from siftcast.security.hazmat.hash_tree import Verifier
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import SigningKey, VerifyingKey
from siftcast.security.ring_files import read_ring, stamp_of

_logger = logging.getLogger("siftcast")
LOOK_S, LOOK_S_MIN = 5.0, 1.0
"""How often files are looked at by itself, and at most."""


class HeldEpoch:
    """An epoch of a group, ready to open with."""

    __slots__ = ("group", "key", "stale_from_s")

    def __init__(self, group: Group, key: EpochKey) -> None:
        self.group = group
        self.key = key
        self.stale_from_s = group.stale_from_s(key.epoch)


class KeyRing:
    """Keys by group and epoch. It does not print, pickle or copy; `KeyRing.load(folder)` makes one."""

    def __init__(
        self, groups: Iterable[Group] = (), signing: tuple[str, Secret] | None = None, folder: Path | None = None
    ) -> None:
        self._folder = folder
        self._stamp: object = None
        self._looked_s = float("-inf")
        self._trouble = ""
        self.state = object()
        """Another one whenever what the ring holds has changed."""
        self._groups: dict[str, Group] = {}
        self._held: dict[tuple[bytes, int], HeldEpoch] = {}
        self._verifiers: dict[bytes, Verifier] = {}
        self._take({each.name: each for each in groups}, signing)

    @classmethod
    def load(cls, folder: Path | str) -> KeyRing:
        """The ring in a folder; raises KeyRingError if there is none, or others can read it."""
        if not isinstance(folder, Path | str):
            raise KeyRingError(f"a key ring is in a folder, which is a path, not {given(folder)}")
        if not is_text(str(folder)) or "\0" in str(folder):
            raise KeyRingError(f"{given(str(folder))} is no path")
        ring = cls(folder=Path(folder))
        ring._read()
        return ring

    # -- what it holds -------------------------------------------------------------------------------

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups by name."""
        return dict(self._groups)

    @property
    def name(self) -> str | None:
        """As whom it signs; None if it only opens."""
        return self._name

    @property
    def public(self) -> bytes | None:
        """The public half of its signing key."""
        return None if self.signing is None else self.signing.public

    def held(self, group: bytes, epoch: int) -> HeldEpoch | None:
        """The keys of an epoch."""
        return self._held.get((group, epoch))

    def knows(self, group: bytes) -> bool:
        """Whether it has any epoch of a group."""
        return any(name == group for name, _ in self._held)

    def verifier(self, publisher: GroupPublisher) -> Verifier:
        """What verifies the signatures of a publisher."""
        found = self._verifiers.get(publisher.public)
        if found is None:
            found = self._verifiers[publisher.public] = Verifier(VerifyingKey(publisher.public))
        return found

    def sealing_epoch(self, name: object) -> HeldEpoch:
        """The keys that one seals with for a group; raises SealError unless others would open it."""
        group = self._groups.get(name) if isinstance(name, str) else None
        if group is None:
            known = f"it has {', '.join(sorted(self._groups))}" if self._groups else "it is empty"
            raise SealError(f"the key ring has no group {given(name)}; {known}")
        if self.signing is None:
            hint = "siftcast keys publisher NAME --keys FOLDER makes one"
            raise SealError(f"the key ring has no signing key, so it opens and does not seal; {hint}")
        epoch, known_as = group.newest, group.publishers.get(self._name or "")
        if known_as is None or known_as.public != self.signing.public:
            hint = "siftcast keys add-publisher, and then issue"
            raise SealError(
                f"'{self._name}' is no publisher of group '{group.name}', as far as this ring knows; {hint}"
            )
        if not known_as.may_seal(epoch.number):
            raise SealError(f"'{self._name}' is revoked in group '{group.name}' from epoch {known_as.revoked_from} on")
        return self._held[group.name.encode(), epoch.number]

    def next_numbers(self, many: int) -> tuple[bytes, list[int]]:
        """The run of this process with the ring, and as many numbers that no other event of it has."""
        if os.getpid() != self._process:  # a child of a fork would give the numbers of its parent once more
            self._begin_run()
        run, numbers = self._run  # taken together, because other threads may begin another one
        return run, [next(numbers) for _ in range(many)]

    def _begin_run(self) -> None:
        self._process = os.getpid()
        self._run = os.urandom(RUN_BYTES), count(1)

    # -- files that change ---------------------------------------------------------------------------

    def look(self, now_s: float, *, is_needed: bool = False) -> bool:
        """Looks whether the files have changed, unless it did lately; returns whether the ring has."""
        if self._folder is None or abs(now_s - self._looked_s) < (LOOK_S_MIN if is_needed else LOOK_S):
            return False
        self._looked_s = now_s
        try:
            return stamp_of(self._folder) != self._stamp and self._read()
        except KeyRingError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _logger.warning("the key ring stays as it was: %s", error)
            return False

    def _read(self) -> bool:
        assert self._folder is not None
        stamp = stamp_of(self._folder)
        groups, signing = read_ring(self._folder)
        for name, before in self._groups.items():
            group = groups.get(name)
            if group is None:
                raise KeyRingError(f"the file of group '{name}' is gone; only a restart does without it")
            if group.number < before.number:
                problem = f"group '{name}' has number {group.number}, and was at {before.number}"
                raise KeyRingError(f"{problem}; an old file is not taken")
        self._take(groups, signing)
        self._stamp, self._trouble = stamp, ""
        return True

    def _take(self, groups: Mapping[str, Group], signing: tuple[str, Secret] | None) -> None:
        if self._groups != groups or not self._held:
            self._groups = dict(groups)
            self._held = {
                (name.encode(), number): HeldEpoch(group, EpochKey(epoch.secret, name.encode(), number))
                for name, group in groups.items()
                for number, epoch in group.epochs.items()
            }
        self.state = object()
        self._name = None if signing is None else signing[0]
        self.signing = None if signing is None else SigningKey(signing[1])
        self._begin_run()

    # -- what it does not do -------------------------------------------------------------------------

    def __repr__(self) -> str:
        held = ", ".join(f"{name} (epoch {group.newest.number})" for name, group in sorted(self._groups.items()))
        return f"<KeyRing of {held or 'no group'}{f', signs as {self._name}' if self._name else ''}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyRingError("keys are not pickled or copied; load the ring where it is needed")


AnyKeys = KeyRing | Path | str
"""A key ring, or the folder that it is in."""
Randomness = Callable[[int], bytes]


class Rings:
    """The key rings of a bus: its own, and those that were named by their folders, each loaded once."""

    def __init__(self, own: KeyRing | None = None) -> None:
        self._own = own
        self._loaded: dict[str, KeyRing] = {}

    def of(self, keys: object) -> KeyRing | None:
        """The ring that is meant, or the bus's own where none is; raises KeyRingError, also for one that is empty."""
        if keys is None:
            return self._own
        if isinstance(keys, KeyRing):
            return _with_groups(keys)
        ring = self._loaded.get(str(keys)) if isinstance(keys, Path | str) else None
        if ring is None:
            ring = load_keys(keys)
            self._loaded[str(keys)] = ring
        return ring


def load_keys(keys: object) -> KeyRing:
    """A ring, or the one in a folder; raises KeyRingError, also for one that is empty."""
    return _with_groups(keys if isinstance(keys, KeyRing) else KeyRing.load(keys))  # type: ignore[arg-type]


def _with_groups(ring: KeyRing) -> KeyRing:
    if not ring.groups:
        raise KeyRingError("the key ring is empty: it has no group; have one issued into it")
    return ring
