"""Security: what brokers carry and cannot read. `recipes` are the few safe calls; `hazmat` is what they are made of.

recipes.py          `Sealer` and `Opener`: payloads that only a group reads, signed by their publisher
ring.py             `KeyRing`: the keys somebody has; ring_files.py: as a folder; keeping.py: changed by commands
groups.py           a group's secrets by epoch, and who may seal for it
replays.py          which events were there before
errors.py           what can go wrong, and why something was not opened
credentials/        filters and values as paths in trees, of which keys are made
whole/              events sealed whole, attributes and all: the extra `siftcast[security]`; imported by name only

What is sealed, and what that protects against whom, is in docs/security.md; why it is so, in ADRs 32 and 34.
"""

from siftcast.security.errors import REASONS, KeyRingError, MissingExtraError, Reason, SealError, UnopenedError
from siftcast.security.hazmat.envelope import is_sealed
from siftcast.security.recipes import Opened, Opener, Sealer
from siftcast.security.replays import Replays, Run
from siftcast.security.ring import AnyKeys, KeyRing, Rings, load_keys

__all__ = [
    "REASONS",
    "AnyKeys",
    "KeyRing",
    "KeyRingError",
    "MissingExtraError",
    "Opened",
    "Opener",
    "Reason",
    "Replays",
    "Rings",
    "Run",
    "SealError",
    "Sealer",
    "UnopenedError",
    "is_sealed",
    "load_keys",
]
