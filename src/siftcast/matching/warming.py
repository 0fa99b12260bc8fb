"""A separate thread makes the kernels ready, so that the first event does not wait for a compiler.

    begin ──▶ a thread runs every kernel once ──▶ all are on disk: ready within half a second
                                            └──▶ one must be compiled: whoever asked goes on without, for ten seconds

Numba's own event says when something must be compiled, so nobody guesses by the clock: `begin` waits for kernels that
only need loading, and for no others. `wait` is for callers that have nothing else to do; it says what it waits for.

The thread is not a daemon, since a process must not end inside the compiler. Before each function it checks that the
main thread still runs, so the end of a program waits for one function at most; those compiled by then are on disk. A
process forked meanwhile starts from the beginning.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EMFILE, ENFILE
from typing import Any

from numba.core import event as numba_events
from numba.core.compiler_lock import global_compiler_lock

from siftcast.matching.collector import collector_paused

_logger = logging.getLogger("siftcast")
_PATIENCE_S = 1.0
_register: Callable[[str, object], None] = numba_events.register
_unregister: Callable[[str, object], None] = numba_events.unregister
KERNEL_THREAD = "siftcast-kernels"


class Warming:
    """The kernels behind one engine: `work` runs each of them once."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        if not getattr(self, "ready", False):
            self.ready = False
            self.compiles = False  # whether something is being compiled, or had to be
            self._lock = threading.Lock()
            self._thread: threading.Thread | None = None
            self._decided, self._done = threading.Event(), threading.Event()
            self._error: BaseException | None = None
            self._calls: list[Callable[[], None]] = []

    def begin(self) -> bool:
        """Whether all kernels are there. If not, has them loaded, or compiled while the caller goes on."""
        if self.ready:
            return True
        self.start()
        self._decided.wait()
        return self.ready

    def start(self) -> None:
        """Has the kernels loaded or compiled, and waits for neither."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=KERNEL_THREAD)
                self._thread.start()

    def wait(self) -> None:
        """Until all kernels are there; raises what keeps them from it."""
        if not self.begin():
            self._done.wait()
            if self._error is not None:
                raise RuntimeError("siftcast could not compile its matching kernels") from self._error

    def when_ready(self, call: Callable[[], None]) -> None:
        """Calls a function, in the thread of the kernels, once they are there; at once if they are."""
        with self._lock:
            if not self.ready:
                self._calls.append(call)
                return
        call()

    def _run(self) -> None:
        try:
            with _compiling_noticed(self._note_compiling), collector_paused():
                while not self._is_done():
                    time.sleep(_PATIENCE_S)
            with self._lock:
                self.ready = True
                calls, self._calls = self._calls, []
        except BaseException as error:
            self._error = error
            if not isinstance(error, SystemExit):
                _logger.exception("siftcast could not compile its matching kernels; it matches slowly without them")
            return
        finally:
            self._decided.set()
            self._done.set()
        for call in calls:
            call()

    def _is_done(self) -> bool:
        try:
            self._work()
        except OSError as error:
            if error.errno not in (EMFILE, ENFILE):
                raise
            self._decided.set()  # without a descriptor there is nothing to read them with; that may pass
            return False
        return True

    def _note_compiling(self) -> None:
        if not threading.main_thread().is_alive():
            raise SystemExit  # Numba passes on what is no Exception
        if not self.compiles:
            self.compiles = True
            timer = threading.Timer(_PATIENCE_S, self._announce)
            timer.daemon = True
            timer.start()
            self._decided.set()

    def _announce(self) -> None:
        if not self.ready and self._error is None:
            _logger.warning(
                "siftcast is compiling its matching kernels for this machine, once, for some ten seconds; meanwhile "
                "single events are matched more slowly, and batches wait"
            )


class _Listener(numba_events.Listener):
    def __init__(self, call: Callable[[], None]) -> None:
        self._call, self._thread = call, threading.get_ident()

    def on_start(self, event: Any) -> None:
        if threading.get_ident() == self._thread:
            self._call()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def _compiling_noticed(call: Callable[[], None]) -> Iterator[None]:
    """Calls a function before this thread compiles anything that is not on disk."""
    listener = _Listener(call)
    _register("numba:compile", listener)
    try:
        yield
    finally:
        _unregister("numba:compile", listener)


# A child of a fork would otherwise find the compiler locked by a thread that it does not have.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)
