"""Sweeps: one function over many configurations, one Spark task each, with results that outlive the program.

Each task writes its result under a name that follows from the configuration, by renaming a finished file. So a sweep
that was interrupted continues where it stopped, a finished one costs nothing, and a change of the function's version
starts from the beginning. All workers must share the folder; with embedded Spark they always do.

A kept result that cannot be read, or is that of another configuration, is computed again, and the log says so: files
are renamed when they are written, but a machine that loses its power may lose their content.

Order is kept by the caller's list, not by when tasks end. A configuration that fails does not stop the others: all
failures are reported together at the end, and tried again the next time.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from siftcast.spark.errors import SparkError
from siftcast.spark.workers import map_batches

_LOG = logging.getLogger(__name__)
Configuration = Mapping[str, Any]
Show = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one configuration gave, and how long it took."""

    configuration: Configuration
    result: Mapping[str, Any]
    seconds: float


def sweep(
    spark: SparkSession,
    function: str,
    configurations: Sequence[Configuration],
    folder: str | Path,
    *,
    version: str = "1",
    show: Show | None = None,
) -> list[Outcome]:
    """Calls `module:name` with each configuration; returns the outcomes in order, old and new.

    Raises SparkError if any failed, after all others are done.
    """
    kept = Path(folder)
    kept.mkdir(parents=True, exist_ok=True)
    files = [kept / f"{_name(function, version, configuration)}.json" for configuration in configurations]
    missing = [
        (str(file), dict(item)) for file, item in zip(files, configurations, strict=True) if not _is_kept(file, item)
    ]
    if missing:
        with _Watching(files, show):
            failures = _run(spark, function, missing)
        if failures:
            shown = "\n".join(failures[:3])
            raise SparkError(f"{len(failures)} of {len(configurations)} configurations failed; the first:\n{shown}")
    return [_read(file) for file in files]


def _run(spark: SparkSession, function: str, missing: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            failed = [_attempt(function, *missing[number.as_py()]) for number in batch.column(0)]
            yield pa.RecordBatch.from_pydict({"failure": pa.array(failed, pa.string())})

    numbers = spark.range(0, len(missing), 1, len(missing))
    rows = map_batches(numbers, work, "failure string").collect()
    return [row["failure"] for row in rows if row["failure"] is not None]


def _attempt(function: str, file: str, configuration: dict[str, Any]) -> str | None:
    """Runs one configuration on a worker; returns what went wrong."""
    module, _, name = function.partition(":")
    begun = time.perf_counter()
    try:
        result = getattr(importlib.import_module(module), name)(configuration)
        outcome = {"configuration": configuration, "result": result, "seconds": time.perf_counter() - begun}
        draft = Path(f"{file}.{os.getpid()}")
        draft.write_text(json.dumps(outcome, indent=1))
        draft.replace(file)
    except Exception:  # reported to the caller, who raises
        return f"{json.dumps(configuration)}\n{traceback.format_exc()}"
    return None


def _name(function: str, version: str, configuration: Configuration) -> str:
    text = json.dumps([function, version, dict(configuration)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _is_kept(file: Path, configuration: Configuration) -> bool:
    """Whether there is a result of this configuration; what is damaged is said and removed."""
    if not file.exists():
        return False
    try:
        if _read(file).configuration != json.loads(json.dumps(dict(configuration))):
            raise ValueError("it is the result of another configuration")
    except (ValueError, RecursionError) as error:
        _LOG.warning("%s is damaged and is computed again: %s", file, error)
        file.unlink()
        return False
    return True


def _read(file: Path) -> Outcome:
    """What a task has written; raises ValueError if anything else is there."""
    found = json.loads(file.read_bytes())
    if not isinstance(found, dict) or found.keys() != {"configuration", "result", "seconds"}:
        raise ValueError("it does not hold a configuration, a result and a time")
    outcome = Outcome(found["configuration"], found["result"], found["seconds"])
    if not isinstance(outcome.result, dict) or not isinstance(outcome.seconds, int | float):
        raise ValueError("its result or its time is of the wrong kind")
    return outcome


class _Watching:
    """Counts finished files while a sweep runs."""

    def __init__(self, files: Sequence[Path], show: Show | None) -> None:
        self._files = files
        self._show = show
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        if self._show is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._show is not None:
            self._thread.join()
            self._tell()

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            self._tell()

    def _tell(self) -> None:
        assert self._show is not None
        self._show(sum(file.exists() for file in self._files), len(self._files))
