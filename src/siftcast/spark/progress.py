"""How far Spark is, in numbers; drawing them is for `interfaces`.

Spark knows its work as stages of tasks, and learns of later stages only when the earlier ones are done. So the share
is that of the stages that run now: it may start again with the next stage, and the display says which one it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Protocol

from pyspark.sql import SparkSession

from siftcast.spark.session import is_connect


@dataclass(frozen=True, slots=True)
class Progress:
    """The stages that run now."""

    stages: int
    tasks_done: int
    tasks_running: int
    tasks_total: int

    @property
    def share(self) -> float:
        """From 0 to 1; 0 while nothing runs."""
        return self.tasks_done / self.tasks_total if self.tasks_total else 0.0


class Show(Protocol):
    """Receives how far Spark is."""

    def __call__(self, progress: Progress) -> None: ...


def progress_now(spark: SparkSession) -> Progress:
    """How far the running jobs are; Spark Connect does not tell, there nothing seems to run.

    Spark's own record follows its events: a stage that has just ended may seem to run for a moment more.
    """
    if is_connect(spark):
        return Progress(0, 0, 0, 0)
    tracker = spark.sparkContext.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    stages = [stage for stage in found if stage is not None]
    return Progress(
        stages=len(stages),
        tasks_done=sum(stage.numCompletedTasks for stage in stages),
        tasks_running=sum(stage.numActiveTasks for stage in stages),
        tasks_total=sum(stage.numTasks for stage in stages),
    )


@contextmanager
def watch(spark: SparkSession, show: Show, *, interval_s: float = 0.25) -> Iterator[None]:
    """Calls `show` from a thread of its own, again and again, until the block is left."""
    done = Event()

    def run() -> None:
        while not done.wait(interval_s):
            show(progress_now(spark))

    thread = Thread(target=run, name="siftcast-spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
