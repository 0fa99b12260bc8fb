"""What can go wrong when a node is to be durable, or takes up what it kept."""

from __future__ import annotations

from siftcast.model.errors import SiftcastError


class NotDurableError(SiftcastError):
    """A scheme cannot be made durable, because nobody says how its routing state is kept."""

    code = "not-durable"


class RestoreError(SiftcastError):
    """What an earlier life of a node kept cannot be used by this one."""

    code = "restore"
