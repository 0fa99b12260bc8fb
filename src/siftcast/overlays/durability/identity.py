"""Whose records these are: which format, node and network they belong to, and in which of its lives the node is.

One record, `self`, is written at the start of each life. Records that do not fit are refused in words before anything
is taken from them. Where only the layout of the network has changed, what a node holds for its own subscribers is
still good, and what it knew about routes is not; but a message that waits for a neighbour was meant for the former
layout, and nobody knows where it would end in the new one. So then the node does not start until it was run as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.overlays.durability.deferred import ROOM
from siftcast.overlays.durability.errors import RestoreError
from siftcast.overlays.durability.messages import Lineage
from siftcast.overlays.durability.roster import Roster

FORMAT = 3
"""The form of all records of this package; 1 knew nodes by their places in lists, 2 by their names."""
SELF = "self"
_OF_A_LAYOUT = ("route", "inner")


class SelfRecord(msgspec.Struct, frozen=True, gc=False):
    """What a node keeps about itself."""

    format: int
    node: NodeId
    name: str
    network: str
    layout: str
    lineage: Lineage
    life: int


def read_self(records: Mapping[str, bytes], node: NodeId, roster: Roster, *, damaged: bool) -> SelfRecord | None:
    """The record of the last life, None for a first one; raises RestoreError if the records are another's."""
    if not records:
        return None
    if SELF not in records:
        if damaged:
            return None
        raise RestoreError("what this node kept does not say whose it is; start with an empty data folder")
    try:
        form = msgspec.msgpack.decode(records[SELF], type=dict[str, msgspec.Raw]).get("format")
        number = 0 if form is None else msgspec.msgpack.decode(form, type=int)
    except msgspec.DecodeError:
        number = 1
    if number != FORMAT:
        raise RestoreError(
            f"what this node kept has format {number}, and this version of Siftcast reads format {FORMAT}; run the "
            "version that wrote it until nothing waits any more, or start with an empty data folder"
        )
    record = msgspec.msgpack.decode(records[SELF], type=SelfRecord)
    if record.network != roster.network:
        raise RestoreError(
            f"the data folder belongs to node '{record.name}' of network '{record.network}', and this is network "
            f"'{roster.network}'; give each node its own folder"
        )
    if record.node != node:
        raise RestoreError(
            f"the data folder belongs to node '{record.name}' with the identity {record.node}, and this is "
            f"'{roster.name(node)}' with {node}; give each node its own folder, or write its identity as "
            "id, in [node] or where it is listed"
        )
    return record


def fit_to_network(
    records: Mapping[str, bytes], before: SelfRecord, roster: Roster
) -> tuple[dict[str, bytes], list[str]]:
    """The records that are good in the present layout, and the keys of those that are not.

    Raises RestoreError if something waits that belongs to another layout.
    """
    if before.layout == roster.layout:
        return dict(records), []
    waiting = Counter(key.split("/", 2)[1] for key in records if key.startswith("outbox/"))
    here = sum(key.startswith(("duty/", f"{ROOM}/")) for key in records)
    if waiting or here:
        named = sorted((roster.name(int(peer)), count) for peer, count in waiting.items())
        listed = ", ".join(f"{count:,} for '{name}'" for name, count in named)
        raise RestoreError(
            f"messages of the network as it was laid out before wait in the data folder of '{before.name}' "
            f"({listed or f'{here:,} that wait here for others'}); start the nodes with the former [overlay] until "
            "nothing waits (siftcast subscriptions shows it), then change it"
        )
    gone = [
        key
        for key in records
        if (parts := key.split("/", 2))[0] in _OF_A_LAYOUT or (parts[0] == "link" and int(parts[1]) not in roster)
    ]
    dropped = set(gone)
    return {key: data for key, data in records.items() if key not in dropped}, gone
