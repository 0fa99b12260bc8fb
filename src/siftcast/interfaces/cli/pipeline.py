"""Reading, matching and writing at the same time, each in a thread, joined by short queues.

    source ──queue──▶ transform ──queue──▶ sink          (the main thread watches, and takes Ctrl-C)

The heavy parts of all three (gzip, Arrow, the engines' kernels) run outside Python's global lock, so they do
overlap. The queues are bounded: memory holds a few blocks, however large the file.

How it ends:
  - the source is exhausted: everything is passed on, all threads end;
  - a stage raises: the stages before it stop, those after it finish what they were given, then the error is raised
    in the main thread. So a file that breaks off half-way still has its first half matched and written;
  - Ctrl-C: reading and matching stop at once, what was matched is still written, KeyboardInterrupt is raised.

A stage's time is *busy* while it computes and *waiting* while it has nothing to take or nowhere to put. The
stage that is busy most of the time is the one that limits: making another one faster would not help.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

QUEUE_BLOCKS = 4
_POLL_S = 0.05
_END = object()


@dataclass(slots=True)
class Stage:
    """One of the three, with its clock."""

    name: str
    busy_s: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a run went."""

    wall_s: float
    busy_s: dict[str, float]

    @property
    def limiting(self) -> str:
        """The stage that was busy longest."""
        return max(self.busy_s, key=lambda name: self.busy_s[name])

    def share(self, name: str) -> float:
        """The part of the wall time in which a stage was busy, from 0 to 1."""
        return min(1.0, self.busy_s[name] / self.wall_s) if self.wall_s > 0 else 0.0


class Pipeline:
    """Three stages in threads. `run` returns when all is done; `profile` may be asked at any time after a start."""

    def __init__(
        self,
        source: Callable[[], Iterator[Any]],
        transform: Callable[[Any], Iterable[Any]],
        sink: Callable[[Any], None],
    ) -> None:
        self._stages = [Stage(name) for name in ("reading", "matching", "writing")]
        self._queues: list[queue.Queue[Any]] = [queue.Queue(QUEUE_BLOCKS) for _ in range(2)]
        self._work = (source, transform, sink)
        self._errors: list[Exception] = []
        self._started = 0.0

    def run(self, tick: Callable[[], None] = lambda: None) -> Profile:
        """Runs to the end, calling `tick` now and then; raises the first error of a stage, or KeyboardInterrupt."""
        self._started = perf_counter()
        bodies = (self._read, self._transform, self._write)
        threads = [
            threading.Thread(target=self._guard, args=(index, body), name=f"siftcast-{stage.name}", daemon=True)
            for index, (stage, body) in enumerate(zip(self._stages, bodies, strict=True))
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                threads[-1].join(_POLL_S)
                tick()
        except BaseException:
            for stage in self._stages[:-1]:
                stage.stop.set()
            for thread in threads:
                thread.join()
            raise
        if self._errors:
            raise self._errors[0]
        return self.profile()

    def profile(self) -> Profile:
        """Where the time went so far."""
        wall_s = perf_counter() - self._started
        return Profile(wall_s, {stage.name: stage.busy_s for stage in self._stages})

    # -- the bodies of the threads -------------------------------------------------------------------

    def _guard(self, index: int, body: Callable[[Stage], None]) -> None:
        """Runs a stage; if it raises, those before it stop and those after it see an orderly end."""
        stage = self._stages[index]
        try:
            body(stage)
        except Exception as error:
            self._errors.append(error)
        for earlier in self._stages[:index]:
            earlier.stop.set()
        stage.ended.set()
        if index < len(self._queues):
            self._put(index, _END)

    def _read(self, stage: Stage) -> None:
        for item in _timed(self._work[0](), stage):
            if stage.stop.is_set() or not self._put(0, item):
                return

    def _transform(self, stage: Stage) -> None:
        for item in self._items(0):
            for result in _timed(iter(self._work[1](item)), stage):
                if stage.stop.is_set() or not self._put(1, result):
                    return
            if stage.stop.is_set():
                return

    def _write(self, stage: Stage) -> None:
        for item in self._items(1):
            started = perf_counter()
            self._work[2](item)
            stage.busy_s += perf_counter() - started

    # -- queues --------------------------------------------------------------------------------------

    def _put(self, index: int, item: Any) -> bool:
        """Hands an item on; False if nobody is left to take it."""
        while not self._stages[index + 1].ended.is_set():
            try:
                self._queues[index].put(item, timeout=_POLL_S)
                return True
            except queue.Full:
                continue
        return False

    def _items(self, index: int) -> Iterator[Any]:
        while (item := self._queues[index].get()) is not _END:
            yield item


def _timed(items: Iterator[Any], stage: Stage) -> Iterator[Any]:
    """The same items; the time it takes to make each counts as the stage's own."""
    while True:
        started = perf_counter()
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            stage.busy_s += perf_counter() - started
        yield item
