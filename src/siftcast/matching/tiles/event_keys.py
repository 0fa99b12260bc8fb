"""The keys of one event, read from a mapping with as little Python as possible.

Most attributes are numbers, and most events hold them as plain floats or ints. Those go as doubles into the very
cells that later hold the keys, and the kernel that matches turns them into keys; the dimensions of numbers come
first in a segment for that reason. Anything else goes through `normalise`.

Rejected: `operator.itemgetter` with a test of all types at once, which takes 0.35 µs longer for five attributes than
code generated for them (`_asker_maker`), where matching itself takes 0.4.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from siftcast.matching.contract import Attributes, Int64Array
from siftcast.matching.tiles.keys import Dimension, Path, StringRanks, number_key, plain_key
from siftcast.matching.tiles.ordering import MISSING
from siftcast.model.values import Kind, kind_of, lookup, normalise

_NAN, _INFINITY = float("nan"), float("inf")
T = TypeVar("T")


class Question(NamedTuple):
    """An event as kernels take it: the memory they read, and views of it to write through."""

    cells: Int64Array  # what is asked of (kernels.QUESTION_*), the keys, and space to find the answer in
    keys: Int64Array
    doubles: memoryview  # the keys, as the doubles that some of them are until a kernel has turned them
    address: int


class EventKeys:
    """Reads events for one segment; a list of spare questions lets several threads ask at once without a lock."""

    __slots__ = ("_careful", "_dims", "_plain", "_scratch", "_spare", "_who")

    def __init__(
        self,
        dimensions: list[Dimension],
        ranks: dict[Dimension, StringRanks],
        *,
        index: int,
        alive: int,
        names: int,
        scratch_bytes: int,
    ) -> None:
        """`dimensions` of numbers must come first; the addresses are what a question begins with."""
        self._dims = len(dimensions)
        self._scratch = (scratch_bytes + 7) // 8
        numbers = sum(kind is Kind.NUMBER for _, kind in dimensions)
        self._who = [index, alive, names, numbers]
        readers: dict[Path, _Attribute] = {}
        for place, dimension in enumerate(dimensions):
            path, kind = dimension
            readers.setdefault(path, _Attribute(path)).put(kind, place, ranks.get(dimension))
        # The plain ones are read in one go, which needs them to fill the first cells without a gap.
        plain = [reader for reader in readers.values() if reader.only_number]
        if [reader.number for reader in plain] != list(range(len(plain))):
            plain = []
        self._plain = [reader.name for reader in plain]
        plainly = set(map(id, plain))
        self._careful = [reader for reader in readers.values() if id(reader) not in plainly]
        self._spare: list[Question] = []

    def asker(self, kernel: Callable[[int], T]) -> Callable[[Attributes], T]:
        """A function that puts an event to a kernel."""
        pack = struct.Struct(f"={len(self._plain)}d").pack_into
        make = _asker_maker(tuple(self._plain), bool(self._careful))
        ask: Callable[[Attributes], T] = make(
            kernel, pack, self._spare.pop, self._spare.append, self._new_question, self._read_plain, self._careful
        )
        return ask

    def take(self, event: Attributes) -> Question:
        """The event as a question that must be given back, for whoever wants its keys afterwards."""
        try:
            question = self._spare.pop()
        except IndexError:
            question = self._new_question()
        self._read_plain(event, question.doubles)
        for reader in self._careful:
            reader.read(event, question.keys, question.doubles)
        return question

    def give_back(self, question: Question) -> None:
        """Lets the next event use the memory."""
        self._spare.append(question)

    def _read_plain(self, event: Attributes, doubles: memoryview) -> None:
        for place, name in enumerate(self._plain):
            doubles[place] = float_of(event.get(name))  # type: ignore[call-overload]  # cells of doubles

    def _new_question(self) -> Question:
        cells = np.zeros(len(self._who) + self._dims + self._scratch, np.int64)
        cells[: len(self._who)] = self._who
        keys = cells[len(self._who) : len(self._who) + self._dims]
        doubles = memoryview(keys.view(np.float64))  # type: ignore[arg-type]  # NumPy arrays are buffers
        return Question(cells, keys, doubles, int(cells.ctypes.data))


_ASKER = """
def make(kernel, pack, take_spare, give_back, new_question, read_plain, careful):
    def ask(event):
        try:
            question = take_spare()
        except IndexError:
            question = new_question()
        _, keys, doubles, address = question
{plain}{careful}        answer = kernel(address)
        give_back(question)
        return answer
    return ask
"""
_PLAIN = """        if type(event) is dict:  # others may make a value up where one is missing
            try:
                {reads}
                if {tests}:
                    pack(doubles, 0, {values})
                else:
                    read_plain(event, doubles)
            except (KeyError, OverflowError, error):  # something is missing, or too large for a double
                read_plain(event, doubles)
        else:
            read_plain(event, doubles)
"""
_CAREFUL = """        for reader in careful:
            reader.read(event, keys, doubles)
"""


@lru_cache(maxsize=1_024)
def _asker_maker(names: tuple[str, ...], is_careful: bool) -> Callable[..., Any]:
    """A function that makes an `ask` for events of these attributes, written out for them.

    Each call, loop and attribute of self would take as long as reading one of the event: a third of the time that one
    event takes in all, with five attributes.
    """
    values = [f"v{place}" for place in range(len(names))]
    plain = _PLAIN.format(
        reads="; ".join(f"{value} = event[{name!r}]" for value, name in zip(values, names, strict=True)),
        tests=" and ".join(f"(type({value}) is float or type({value}) is int)" for value in values),
        values=", ".join(values),
    )
    source = _ASKER.format(plain=plain if names else "", careful=_CAREFUL if is_careful else "")
    made: dict[str, Any] = {"error": struct.error}
    exec(source, made)  # nothing but quoted names of attributes comes from outside
    make: Callable[..., Any] = made["make"]
    return make


def float_of(value: object) -> float:
    """The double that stands for any value among numbers: NaN where it is none."""
    if value is None:
        return _NAN
    known = normalise(value)
    if kind_of(known) is not Kind.NUMBER:
        return _NAN
    try:
        return float(known)  # type: ignore[arg-type]
    except OverflowError:
        return _INFINITY if known > 0 else -_INFINITY  # type: ignore[operator]


class _Attribute:
    """Where the value of one attribute goes, depending on its kind."""

    __slots__ = ("_path", "_places", "_presence", "_ranks", "name", "number")

    def __init__(self, path: Path) -> None:
        self.name = ".".join(path)
        self._path = path
        self.number = -1
        self._presence = -1
        self._places: dict[Kind, int] = {}
        self._ranks: StringRanks | None = None

    @property
    def only_number(self) -> bool:
        return self.number >= 0 and self._presence < 0 and not self._places and len(self._path) == 1

    def put(self, kind: Kind | str, place: int, ranks: StringRanks | None) -> None:
        if kind is Kind.NUMBER:
            self.number = place
        elif isinstance(kind, Kind):
            self._places[kind] = place
            self._ranks = ranks if ranks is not None else self._ranks
        else:
            self._presence = place

    def read(self, event: Attributes, keys: Int64Array, cells: memoryview) -> None:
        raw = event.get(self.name) if len(self._path) == 1 else lookup(event, self.name, self._path)
        if self._presence >= 0:
            keys[self._presence] = raw is not None
        if self.number >= 0:
            cells[self.number] = float_of(raw)  # type: ignore[call-overload]  # the cells hold doubles
        for place in self._places.values():
            keys[place] = MISSING
        value = normalise(raw)
        place = self._places.get(kind_of(value), -1)  # type: ignore[arg-type]
        if place >= 0:
            ranks = self._ranks
            keys[place] = ranks.key(value) if ranks is not None and type(value) is str else plain_key(value)


def value_key(event: Attributes, dimension: Dimension) -> int | str | None:
    """The key of one event on one dimension; a string stands for itself, None for no key."""
    path, kind = dimension
    raw = event.get(path[0]) if len(path) == 1 else lookup(event, ".".join(path), path)
    if kind is Kind.NUMBER and type(raw) is float:
        key = number_key(raw)
        return None if key == MISSING else key
    if not isinstance(kind, Kind):
        return int(raw is not None)
    value = normalise(raw)
    if kind_of(value) is not kind:
        return None
    return value if isinstance(value, str) else plain_key(value)
