"""What can go wrong with keys and with what they seal. Messages name groups, publishers and files, and never a key."""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

from siftcast.model.errors import SiftcastError

Reason = Literal[
    "plain", "malformed", "no-key", "unknown-epoch", "stale-epoch", "altered", "unknown-publisher", "revoked",
    "forged", "replayed",
]  # fmt: skip
"""Why an event was not handed out, in the order in which it is found out."""
REASONS: tuple[Reason, ...] = get_args(Reason)


class SealError(SiftcastError):
    """An event cannot be sealed as asked: the words, the group or the keys for it are wrong or missing."""

    code = "seal"


class KeyRingError(SealError):
    """A key ring cannot be read, changed or used; names the file, and says what to do."""

    code = "keys"


class MissingExtraError(SealError):
    """What is asked for needs packages that are not installed; the message names the extra that brings them."""


class UnopenedError(SealError):
    """A sealed payload was not opened; `reason` is one of a few words, which the page on security explains."""

    code = "unopened"

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        self.message = message
        super().__init__(f"{message} ({reason})")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), self.reason, self.message), ()
