"""What all frames are, and how a node is introduced in one."""

from __future__ import annotations

from typing import Literal

import msgspec

Question = Literal["reach", "trace", "members", "load", "distances"]
"""What all nodes can be asked (`node.inquiries`)."""


class Frame(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A frame."""
