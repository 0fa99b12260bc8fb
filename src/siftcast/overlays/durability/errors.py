"""What can go wrong when a durable node takes up what it kept."""

from __future__ import annotations

from siftcast.model.errors import SiftcastError


class RestoreError(SiftcastError):
    """What an earlier life of a node kept cannot be used by this one."""

    code = "restore"
