"""What a node keeps on disk about its network."""

from __future__ import annotations

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.overlays.epochs.view import View


class PlanRecord(msgspec.Struct, frozen=True, gc=False):
    """The latest view, which life of the node took it up, and whom the node has given up.

    `first` tells one list of nodes, with which networks begin, from another.
    """

    view: View
    life: int
    ended: tuple[NodeId, ...] = ()
    first: str = ""


def read_record(data: bytes | None, first: str) -> PlanRecord | None:
    """What an earlier life kept; None if it was about a network that began with another list."""
    if data is None:
        return None
    record = msgspec.msgpack.decode(data, type=PlanRecord)
    return record if record.first == first else None
