"""The default engine: segments of tiles, with new subscriptions staged beside them.

    add ──▶ staged (asked one by one) ──flush──▶ small segment ──merge──▶ larger segment
                                                                              remove ──▶ one bit

Segments never change, so an addition cannot disturb a match; they are merged four at a time when there are four of
similar size, which touches each subscription about log₄ n times in its life. A removal clears a bit; a segment that
is more than half dead is rebuilt at the next flush, so endless adding and removing does not grow. Plain filters (one
box, decided) and general ones live in segments of their own, because only the latter need owners and verification
(see `segment`).

Anything that takes time is built beside the existing segments and then replaces them at once: a match in another
thread sees all subscriptions, before or after, and an interrupted flush or merge changes nothing. Changes take a
lock; matches do not, except one that flushes.

An index needs kernels, which take ten seconds to compile on a machine that has never seen them. Until a thread has done
so (`readiness`), rows wait without an index (`waiting_segment`); a batch waits for them.

Matching costs the index's time per segment (see `index`) plus 0.2 µs per staged filter; there are at most STAGED_MAX
of these, none after `settle`, and none in a batch large enough to pay for a flush.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from threading import RLock
from typing import Self
from weakref import ref

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, BatchResult, Engine, Int32Array, Int64Array
from siftcast.matching.simple_engine import find_rows
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import join_codes
from siftcast.matching.tiles.general_segment import GeneralSegment
from siftcast.matching.tiles.index import DIMS_MAX
from siftcast.matching.tiles.loading import Loader
from siftcast.matching.tiles.memory import LARGE_ROWS, return_memory
from siftcast.matching.tiles.readiness import KERNELS
from siftcast.matching.tiles.rows import RowSet, merge_rows
from siftcast.matching.tiles.segment import IndexedSegment, PlainSegment, Segment
from siftcast.matching.tiles.stage import Stage
from siftcast.matching.tiles.storage import load_segments, save_segments
from siftcast.matching.tiles.waiting_segment import WaitingSegment
from siftcast.model import Filter

STAGED_MAX = 256
STAGED_WORK_MAX = 20_000  # predicate calls of a batch below which building an index would take longer
LISTED_ROWS = 4_096  # events whose matches are listed at once although only their number is asked for
MERGE_AT = 4  # segments of similar size before they become one
_NOWHERE, _STAGED = -1, -2


class Tiles(Engine):
    """Bitmap tiles over intervals; exact for every filter, fast for most."""

    name = "tiles"
    is_concurrent = True

    def __init__(self) -> None:
        self._changing = RLock()  # matches may come from several threads, and each may find something to flush
        self._parts: tuple[Mapping[int, Segment], Stage] = {}, Stage()  # segments by serial number, and what waits
        self._undecided: dict[int, Filter] = {}
        self._only: Segment | None = None  # the one segment there is, while nothing is staged: the usual case
        self._serial = 0
        self._home: Int32Array = np.full(16, _NOWHERE, np.int32)  # by slot: the segment's serial number
        self._code: Int32Array = np.zeros(16, np.int32)  # by slot: the code in that segment
        self._counts = {"single": 0, "batch": 0, "staged_checks": 0, "flushes": 0, "merges": 0}

    # -- changes -------------------------------------------------------------------------------------

    def add(self, slot: int, filter_: Filter) -> None:
        with self._changing:
            self._reserve(slot)
            self._parts[1].add(slot, filter_)
            self._home[slot] = _STAGED
            self._go_direct(None)

    def bulk(self) -> Loader:
        return Loader(self._install)

    def remove(self, slot: int) -> None:
        with self._changing:
            if slot >= len(self._home):
                return  # a filter that nothing can satisfy, from a bulk or a saved form: it has no rows, hence no home
            home = int(self._home[slot])
            self._home[slot] = _NOWHERE
            segments, staged = self._parts
            if home == _STAGED:
                staged.remove(slot)
            elif home >= 0:
                segments[home].remove(int(self._code[slot]))
                self._undecided.pop(slot, None)

    def settle(self) -> None:
        """Puts everything staged into the index and joins what can be joined."""
        self._indexed()
        with self._changing:
            for kind in (PlainSegment, GeneralSegment):
                segments = self._parts[0]
                serials = [serial for serial, segment in segments.items() if isinstance(segment, kind)]
                if len(serials) > 1 or any(_wasteful(segments[serial]) for serial in serials):
                    self._merge(serials)

    # -- matching ------------------------------------------------------------------------------------

    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        self._counts["single"] += 1
        only = self._only
        if only is not None:
            found: Sequence[int] = only.find(event)  # type: ignore[assignment]  # an array of slots is one too
            return found if limit is None else found[:limit]
        segments, staged = self._ready_parts()
        slots = list(chain.from_iterable(segment.find(event) for segment in segments.values()))
        if staged.size:
            self._counts["staged_checks"] += staged.size
            slots += staged.find(event)
        return slots if limit is None else slots[:limit]

    def exists(self, event: Attributes) -> bool:  # replaced by that of the one segment, while there is one
        segments, staged = self._ready_parts()
        for segment in segments.values():
            if segment.exists(event):
                return True
        return staged.size > 0 and any(True for _ in staged.find(event))

    def _ready_parts(self) -> tuple[Mapping[int, Segment], Stage]:
        """All there is, once: another thread may be putting something else in its place."""
        if self._parts[1].size > STAGED_MAX:
            self._flush()
        return self._parts

    def find_batch(self, events: pa.Table) -> BatchResult:
        self._counts["batch"] += events.num_rows
        if self._few(events):
            staged = self._parts[1]
            return find_rows(self, staged.named_columns(events))
        segments = self._indexed()
        columns = KeyColumns(events)
        parts = [segment.find_batch(columns, events) for segment in segments]
        if not parts:
            empty = np.zeros(0, np.int32)
            return BatchResult(empty, np.zeros(events.num_rows + 1, np.int64), (empty,))
        codes, offsets = join_codes(parts, [len(segment.slots) for segment in segments])
        return BatchResult(codes, offsets, tuple(segment.slots for segment in segments))

    def count_batch(self, events: pa.Table) -> Int64Array:
        if self._few(events):
            return super().count_batch(events)
        self._counts["batch"] += events.num_rows
        segments = self._indexed()
        counts = np.zeros(events.num_rows, np.int64)
        # Where matches must be listed to be counted, a long batch is cut, or the lists might fill the memory.
        step = LISTED_ROWS if any(segment.lists_to_count for segment in segments) else max(events.num_rows, 1)
        for start in range(0, events.num_rows, step):
            piece = events.slice(start, step)
            columns = KeyColumns(piece)
            for segment in segments:
                counts[start : start + step] += segment.count_batch(columns, piece)
        return counts

    def _few(self, events: pa.Table) -> bool:
        """Whether asking all there is one by one takes less than an index would."""
        segments, staged = self._parts
        return not segments and staged.size * events.num_rows <= STAGED_WORK_MAX

    # -- segments ------------------------------------------------------------------------------------

    def _indexed(self) -> list[IndexedSegment]:
        """All segments there are, when nothing waits any more; waits for the kernels if something does."""
        segments, staged = self._parts
        if staged.size or any(isinstance(segment, WaitingSegment) for segment in segments.values()):
            KERNELS.wait()
        with self._changing:
            self._flush()
            self._index_waiting()
            return [segment for segment in self._parts[0].values() if isinstance(segment, IndexedSegment)]

    def _flush(self) -> None:
        """Makes rows of what is staged, and an index of them if there are kernels for one."""
        with self._changing:
            staged = self._parts[1]
            if staged.size:
                self._counts["flushes"] += 1
                loader = Loader(partial(self._install, staged=Stage()))
                loader.add_stage(staged)
                loader.finish()

    def _install(
        self, plain: RowSet, general: RowSet, undecided: Mapping[int, Filter], *, staged: Stage | None = None
    ) -> None:
        """Adds rows, and leaves `staged` waiting if something else is to."""
        is_ready = KERNELS.begin()
        made: list[Segment] = [self._segment(rows, is_ready, is_plain=True) for rows in plain.split(DIMS_MAX)]
        made += [self._segment(rows, is_ready, is_plain=False) for rows in general.split(DIMS_MAX)]
        with self._changing:
            waited = self._parts[1]
            self._undecided.update(undecided)
            self._swap((), made, staged)
            if staged is not None:
                slots = np.fromiter(waited, np.int64, waited.size)
                self._home[slots[self._home[slots] == _STAGED]] = _NOWHERE  # nothing can satisfy these
            self._tidy()
        if len(plain) + len(general) >= LARGE_ROWS:
            return_memory()
        self._index_later()

    def _segment(self, rows: RowSet, is_ready: bool, *, is_plain: bool) -> Segment:
        if not is_ready:
            return WaitingSegment(rows, self._undecided, is_plain=is_plain)
        return PlainSegment(rows) if is_plain else GeneralSegment(rows, self._undecided)

    def _index_later(self) -> None:
        """Has an index made, as soon as there are kernels for one, of what has none."""
        if any(isinstance(segment, WaitingSegment) for segment in self._parts[0].values()):
            engine = ref(self)

            def index() -> None:
                alive = engine()
                if alive is not None:
                    alive._index_waiting()

            KERNELS.when_ready(index)

    def _index_waiting(self) -> None:
        """Gives those segments an index that wait for one: made beside them, then put in their place."""
        for serial, waiting in self._parts[0].items():
            if isinstance(waiting, WaitingSegment):
                made, catch_up = waiting.indexed()
                with self._changing:
                    if self._parts[0].get(serial) is waiting:  # no other thread was faster
                        if made is not None:
                            catch_up(made)
                        self._swap((serial,), [] if made is None or not made.live else [made])
                        self._tidy()

    def _swap(self, old: Sequence[int], new: Sequence[Segment], staged: Stage | None = None) -> None:
        """Puts new segments in the place of old ones."""
        segments = {serial: segment for serial, segment in self._parts[0].items() if serial not in old}
        for segment in new:
            serial = self._serial
            self._serial += 1
            segments[serial] = segment
            self._reserve(int(segment.slots.max(initial=0)))
            codes = segment.live_codes()  # the slots of dead ones may have been given to others since
            self._home[segment.slots[codes]] = serial
            self._code[segment.slots[codes]] = codes
        self._go_direct(None)
        self._parts = segments, self._parts[1] if staged is None else staged
        if len(segments) == 1 and not self._parts[1].size:
            self._go_direct(next(iter(segments.values())))

    def _go_direct(self, segment: Segment | None) -> None:
        """Asks this segment and nothing else from now on, or all there is again."""
        self._only = segment
        if segment is not None:
            self.exists = segment.exists  # type: ignore[method-assign, assignment]  # a frame less
        else:
            self.__dict__.pop("exists", None)

    def _tidy(self) -> None:
        """Merges segments of similar size when there are enough, and rebuilds those that are mostly dead."""
        for kind in (PlainSegment, GeneralSegment):
            segments = self._parts[0]
            levels: dict[int, list[int]] = {}
            for serial, segment in segments.items():
                if isinstance(segment, kind):
                    level = max(segment.live // STAGED_MAX, 1).bit_length() // 2
                    levels.setdefault(level, []).append(serial)
            for _, serials in sorted(levels.items()):
                wasteful = [serial for serial in serials if _wasteful(segments[serial])]
                if len(serials) >= MERGE_AT:
                    self._merge(serials)
                elif wasteful:
                    self._merge(wasteful)

    def _merge(self, serials: Sequence[int]) -> None:
        segments = [self._parts[0][serial] for serial in serials]
        if len({dimension for segment in segments for dimension in segment.rows.entries}) > DIMS_MAX:
            return  # more attributes than one index can have
        self._counts["merges"] += 1
        rows: RowSet = merge_rows([segment.live_rows() for segment in segments])
        made: list[Segment] = []
        if len(rows):
            plain = isinstance(segments[0], PlainSegment)
            made = [PlainSegment(rows) if plain else GeneralSegment(rows, self._undecided)]
        self._swap(serials, made)

    def _reserve(self, slot: int) -> None:
        if slot >= len(self._home):
            size = max(slot + 1, 2 * len(self._home))
            self._home = np.concatenate([self._home, np.full(size - len(self._home), _NOWHERE, np.int32)])
            self._code = np.concatenate([self._code, np.zeros(size - len(self._code), np.int32)])

    # -- facts and saved form ------------------------------------------------------------------------

    def stats(self) -> dict[str, object]:
        segments, staged = list(self._parts[0].values()), self._parts[1]
        return {
            "bytes": sum(segment.nbytes for segment in segments) + self._home.nbytes + self._code.nbytes,
            "segments": [segment.facts() for segment in segments],
            "staged": staged.size,
            "undecided": len(self._undecided),
            "verified": sum(segment.verified for segment in segments if isinstance(segment, GeneralSegment)),
            "events": {"single": self._counts["single"], "batch": self._counts["batch"]},
            "staged_checks": self._counts["staged_checks"],
            "flushes": self._counts["flushes"],
            "merges": self._counts["merges"],
        }

    def save(self) -> dict[str, bytes]:
        return save_segments(self._indexed(), self._undecided)

    @classmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Self:
        engine = cls()
        engine._swap((), load_segments(blobs, engine._undecided, is_ready=KERNELS.begin()))
        engine._index_later()
        return engine


def _wasteful(segment: Segment) -> bool:
    return segment.live * 2 < len(segment.rows)
