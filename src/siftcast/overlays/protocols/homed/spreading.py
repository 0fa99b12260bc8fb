"""How all beyond a split come to know that more is wanted on this side, before it counts.

    owner ──Widen──▶ a contact beyond the split ──Widen──▶ a contact beyond each of its further splits ──▶ …
          ◀─Widened──                            ◀─Widened──   once all of these have answered

Whoever was told of the bits before passes nothing on: all on its side were told when they first came. (To have seen
them in a report is not enough: reports go to contacts, and may be ahead of what is told.) So a new subscription is told
to those few who lack it, mostly nearby; upper summaries are full soon. The owner counts what it wants as heard when all
its splits have answered. What is not answered is sent again, to another contact if there is one.

A filter that became wider may have no new bits. Where filters themselves are known (piggybacked) it must be told all
the same, because a stale one would keep events away; such a `Widen` has a version, and is passed on to all.

Cost: two messages for each place that lacks a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.homed.cover_table import Contact, Split, Target
from siftcast.overlays.protocols.homed.messages import Widen, Widened
from siftcast.overlays.protocols.homed.options import HomedSettings
from siftcast.overlays.protocols.homed.post import Post

if TYPE_CHECKING:
    from siftcast.overlays.protocols.homed.home import Home

_HOPS_MAX = 64


@dataclass(slots=True)
class _Task:
    """What has to be known beyond some splits, and who waits for that."""

    home: Home
    asker: tuple[NodeId, int] | None
    """Node and token of whoever passed it on; None for the owner itself."""
    open: int = 0


@dataclass(slots=True)
class _Item:
    """One message that is to be answered."""

    task: _Task
    via: Split
    widen: Widen
    sent_ms: float
    contact: Contact


class Spreading:
    """What one node has others told."""

    __slots__ = ("_asked", "_items", "_post", "_settings", "_token")

    def __init__(self, settings: HomedSettings, post: Post, token: int) -> None:
        self._settings = settings
        self._post = post
        self._token = token
        self._items: dict[int, _Item] = {}
        self._asked: set[tuple[NodeId, int]] = set()
        """What is being passed on for others, so that it is not passed on twice."""

    def __len__(self) -> int:
        return len(self._items)

    def is_busy(self, home: Home) -> bool:
        """Whether something that a place wants itself is not known everywhere."""
        return any(item.task.home is home and item.task.asker is None for item in self._items.values())

    def begin(self, home: Home, bits: int, before: int, version: int, now: float) -> None:
        """Has bits of a place known that are new beside what it wanted before."""
        task = _Task(home, None)
        known, count = before, 1
        for split in reversed(home.table.splits):
            told = version if version and count <= 2 * self._settings.piggyback + 2 else 0
            if bits & ~known or told:
                widen = Widen(0, split.id, split.side, 0, bits, 0, 0, home.place, told)
                self._send_over(task, split, widen, now)
            known |= split.fresh
            count += split.count

    def handle_widen(self, home: Home, sender: NodeId, widen: Widen, now: float) -> None:
        """Notes what is wanted beyond a split, and passes it on to all on this side who may not know."""
        asker = (sender, widen.token)
        if asker in self._asked:
            return
        split = home.table.get(widen.split)
        task = _Task(home, asker)
        if split is not None and split.side == widen.side and widen.hops < _HOPS_MAX:
            self._send_over(task, split, widen, now)
        elif split is not None and split.side != widen.side:
            is_known = split.is_told(widen.bits)
            split.widen(widen.bits)
            if widen.version:
                floor = split.floors.get(widen.owner, (0, 0.0))[0]
                split.floors[widen.owner] = (max(floor, widen.version), now)
                split.filters = None
            if widen.version or not is_known:
                for target in home.table.targets(widen.low, widen.high):
                    self._send(task, target, widen, now)
        if task.open:
            self._asked.add(asker)
        else:
            self._post.send(sender, Widened(widen.token))

    def handle_widened(self, widened: Widened) -> None:
        """One of those who were told, and all whom it told, know."""
        item = self._items.pop(widened.token, None)
        if item is not None:
            self._close(item.task)

    def wake(self, now: float) -> None:
        """Sends again what was not answered."""
        for token, item in tuple(self._items.items()):
            if now - item.sent_ms < self._settings.request_ms:
                continue
            table = item.task.home.table
            if item.task.home.state == "ended" or table.get(item.via.id) is None or not item.via.contacts:
                del self._items[token]
                self._close(item.task)
                continue
            if item.contact.place in item.via.contacts:
                item.contact.missed += 1
            item.contact = item.via.choose(0)
            item.sent_ms = now
            self._tell(token, item)

    def _send_over(self, task: _Task, split: Split, widen: Widen, now: float) -> None:
        """Beyond one split, if need be along its row."""
        table = task.home.table
        if split.contacts:
            self._send(task, Target(split, (split,), split.rank, split.rank), widen, now)
        elif table.rows_are_chains:
            row = table.row_of(split)
            for other in table.splits:
                is_on_the_way = table.row_of(other) == row and other.side == split.side and other.rank > split.rank
                if is_on_the_way and other.contacts:
                    self._send(task, Target(other, (split,), split.rank, split.rank), widen, now)
                    return

    def _send(self, task: _Task, target: Target, widen: Widen, now: float) -> None:
        self._token += 1
        via = target.via
        passed = Widen(
            0,
            widen.split,
            widen.side,
            self._token,
            widen.bits,
            target.low,
            target.high,
            widen.owner,
            widen.version,
            widen.hops + 1,
        )
        item = _Item(task, via, passed, now, via.choose(0))
        self._items[self._token] = item
        task.open += 1
        self._tell(self._token, item)

    def _tell(self, token: int, item: _Item) -> None:
        widen, (node, serial) = item.widen, item.contact.place
        self._post.send(
            node,
            Widen(
                serial,
                widen.split,
                widen.side,
                token,
                widen.bits,
                widen.low,
                widen.high,
                widen.owner,
                widen.version,
                widen.hops,
            ),
        )

    def _close(self, task: _Task) -> None:
        task.open -= 1
        if task.open == 0 and task.asker is not None:
            node, token = task.asker
            self._asked.discard(task.asker)
            self._post.send(node, Widened(token))
