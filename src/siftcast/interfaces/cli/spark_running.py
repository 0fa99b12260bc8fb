"""How commands run on Spark: paths are checked before it starts, one line says what the session uses, and Ctrl-C ends a
job cleanly.

PySpark answers Ctrl-C from within the call that waits for the JVM, through the same connection, which prints a stack
trace or two and leaves half a result behind. Here a thread waits for the JVM instead: the main thread takes the
signal, tells Spark to cancel, and lets it clean up what it had begun. Importing this module does not import Spark.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar

from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError

if TYPE_CHECKING:
    from types import FrameType

    from siftcast.spark import SparkSession

Result = TypeVar("Result")
_LOOK_S = 0.1


def start_session(master: str | None, *, shown: bool) -> SparkSession:
    """The session that a command uses, named in a line unless it is to be quiet."""
    from siftcast import spark as ss

    with _log_on_screen(shown):
        return ss.session(master=master)


def check_inputs(*paths: str | None) -> None:
    """Raises DataError where one of the inputs is not there, as far as paths are of this machine; None is no input."""
    for path in paths:
        if path is not None and _is_here(path) and not Path(path).exists():
            raise DataError(f"{path}: there is no such file or folder")


def check_folder(path: str) -> None:
    """Raises DataError unless this is a folder, as far as the path is of this machine."""
    if _is_here(path) and not Path(path).is_dir():
        raise DataError(f"{path}: there is no such folder")


def check_outputs(*folders: str, force: bool) -> None:
    """Raises DataError where a result would be written over another, unless that is wanted."""
    for folder in folders:
        if "://" not in folder and not force and Path(folder).exists():
            raise DataError(f"{folder}: exists; name another folder, or add --force to replace it")


def _is_here(path: str) -> bool:
    """Whether this is one path of this machine: not of a store elsewhere, and no pattern of Spark's."""
    return "://" not in path and not any(sign in path for sign in "*?[{")


@contextmanager
def _log_on_screen(shown: bool) -> Iterator[None]:
    """Shows what the Spark room logs while the session starts."""
    log = logging.getLogger("siftcast.spark")
    handler = _ToConsole(lambda text: err().print(text, style="dim", markup=False, soft_wrap=True))
    before = log.level
    if shown:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _ToConsole(logging.Handler):
    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(self.format(record))


@contextmanager
def on_interrupt(stop: Event) -> Iterator[None]:
    """Lets the first Ctrl-C set a flag; the second is what it always was."""
    if current_thread() is not main_thread():  # only there can signals be handled
        yield
        return

    def note(_signal: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_cancellable(spark: SparkSession, work: Callable[[], Result]) -> Result:
    """What `work` gives; after Ctrl-C, cancels its jobs, waits until Spark has let go, and raises KeyboardInterrupt."""
    if current_thread() is not main_thread():
        return work()
    stop, results, errors = Event(), list[Result](), list[BaseException]()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    worker = Thread(target=run, name="siftcast-spark", daemon=True)
    with on_interrupt(stop):
        worker.start()
        while worker.is_alive():
            worker.join(_LOOK_S)
            if stop.is_set():
                _cancel(spark)  # again and again: the work may begin another job
    if stop.is_set():
        raise KeyboardInterrupt
    if errors:
        raise errors[0]
    return results[0]


def _cancel(spark: SparkSession) -> None:
    from siftcast.spark import is_connect

    if is_connect(spark):
        spark.interruptAll()
    else:
        spark.sparkContext.cancelAllJobs()
