"""What must survive, written in groups; and what may be said only once it is safe.

A stimulus is taken in at once, in memory. What it changes for good is *staged*, what it wants done is *held*. One write
is under way at a time; meanwhile further stimuli stage and hold, and all they staged becomes the next write:

    stimuli        a      b  c  d           e
    writes         [a────────][b c d────────][e──────]
    effects                   a's            b's c's d's …

Invariant: no effect leaves the node before all changes that were staged until then are safe. So a crash takes back
a number of last stimuli as a whole, and nobody outside has seen anything of them; whoever sent them was not answered
and sends them again. To everybody else the crash is a pause.

The cost of a write is shared by everything that came in during the one before it (group commit). What changes often is
staged with `later`, and becomes one record a write, however often it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from siftcast.overlays.contract import Effect, PersistAll, Refuse
from siftcast.overlays.durability.contract import Accept

_WRITE = "durable/"


class Ledger:
    """Changes on their way to the disk, and the effects that wait for them."""

    __slots__ = ("_held", "_late", "_ready", "_retrying", "_staged", "_writing", "_written", "failure", "writes")

    def __init__(self) -> None:
        self.failure = ""
        """Why the last write failed; empty while all is well."""
        self.writes = 0
        """How many writes have begun; together with `is_writing`, whether one goes on."""
        self._staged: dict[str, bytes | None] = {}
        self._late: dict[str, Callable[[], None]] = {}
        self._held = _Held()
        self._writing: dict[str, bytes | None] | None = None
        self._written = _Held()
        self._ready: list[Effect] = []
        self._retrying = False

    # -- staging ---------------------------------------------------------------------------------------

    def put(self, key: str, data: bytes) -> None:
        """Stages a record."""
        self._staged[key] = data

    def forget(self, key: str) -> None:
        """Stages that a record is no longer needed."""
        self._staged[key] = None

    def later(self, key: str, stage: Callable[[], None]) -> None:
        """Has `stage` called right before the next write, once for each key."""
        self._late[key] = stage

    # -- holding ---------------------------------------------------------------------------------------

    def hold(self, effects: Iterable[Effect]) -> None:
        """Lets effects out once everything that is staged by now is safe."""
        if self._staged or self._late:
            self._held.effects.extend(effects)
        elif self._writing is not None:
            self._written.effects.extend(effects)
        else:
            self._ready.extend(effects)

    def hold_last(self, key: object, make: Callable[[], Effect]) -> None:
        """The same for an effect that replaces an earlier one of its key that is not out yet.

        It is made when the write begins that it waits for, from all that is staged by then, so that it is made once
        however often it was asked for.
        """
        if self._staged or self._late:
            self._held.last[key] = make
        elif self._writing is not None:
            self._written.last[key] = _constant(make())
        else:
            self._ready.append(make())

    # -- writing ---------------------------------------------------------------------------------------

    @property
    def is_writing(self) -> bool:
        """Whether a write has begun and was not answered."""
        return self._writing is not None

    def flush(self) -> list[Effect]:
        """What may be done now; a write comes last."""
        ready, self._ready = self._ready, []
        if self._writing is None and (self._staged or self._late) and not self._retrying:
            late, self._late = self._late, {}
            for stage in late.values():
                stage()
            self._writing, self._staged = self._staged, {}
            self._held.last = {key: _constant(make()) for key, make in self._held.last.items()}
            self._written, self._held = self._held, _Held()
            self.writes += 1
            ready.append(PersistAll(f"{_WRITE}{self.writes}", tuple(self._writing.items())))
        return ready

    def settle(self, key: str) -> None:
        """A write is safe; what waited for it may go."""
        if self._writing is None or key != f"{_WRITE}{self.writes}":
            return
        self._writing = None
        self.failure = ""
        self._ready.extend(self._written.release())

    def fail(self, key: str, reason: str) -> bool:
        """A write failed: it becomes part of the next, which waits for `retry`. Says whether it was ours.

        Publishers that wait for it are refused now. Their event may be kept later all the same, and counts once if
        they ask again.
        """
        if self._writing is None or key != f"{_WRITE}{self.writes}":
            return False
        self.failure = reason
        self._retrying = True
        self._staged = {**self._writing, **self._staged}
        self._writing = None
        self._held = self._written.followed_by(self._held)
        self._written = _Held()
        waiting = self._held.effects
        self._ready.extend(_refusal(effect.request, reason) for effect in waiting if isinstance(effect, Accept))
        self._held.effects = [effect for effect in waiting if not isinstance(effect, Accept)]
        return True

    def retry(self) -> None:
        """Lets the next flush write again after a failure."""
        self._retrying = False


def _constant(effect: Effect) -> Callable[[], Effect]:
    return lambda: effect


def _refusal(request: str, reason: str) -> Refuse:
    return Refuse(request, f"it cannot be kept now ({reason}); ask again with the same id")


class _Held:
    """Effects in order, and those of which only the last counts; the latter go out after the former."""

    __slots__ = ("effects", "last")

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.last: dict[object, Callable[[], Effect]] = {}

    def release(self) -> list[Effect]:
        return [*self.effects, *(make() for make in self.last.values())]

    def followed_by(self, other: _Held) -> _Held:
        both = _Held()
        both.effects = [*self.effects, *other.effects]
        both.last = {**self.last, **other.last}
        return both
