"""The keys of one event, read from a mapping with as little Python as possible.

Most attributes are numbers, and most events hold them as plain floats or ints. Those go as doubles into the very
cells that later hold the keys, and the kernel that matches turns them into keys; the dimensions of numbers come
first in a segment for that. Anything else takes the careful way through `normalise`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from siftcast.matching.contract import Attributes, Int64Array
from siftcast.matching.tiles.index import MISSING
from siftcast.matching.tiles.keys import Dimension, Path, StringRanks, number_key, plain_key
from siftcast.model.values import Kind, kind_of, lookup, normalise

_NAN, _INFINITY = float("nan"), float("inf")
_ORDINARY = frozenset({float, int})
T = TypeVar("T")


class Question(NamedTuple):
    """An event as kernels take it: the memory they read, and views of it for whoever writes."""

    cells: Int64Array  # what is asked of (kernels.QUESTION_*), then the keys
    keys: Int64Array
    doubles: memoryview  # the keys, as the doubles that some of them are until a kernel has turned them
    address: int


class EventKeys:
    """Reads events for one segment; a list of spare questions lets several threads ask at once without a lock."""

    __slots__ = ("_careful", "_dims", "_plain", "_spare", "_who")

    def __init__(
        self,
        dimensions: list[Dimension],
        ranks: dict[Dimension, StringRanks],
        *,
        index: int,
        alive: int,
        names: int,
    ) -> None:
        """`dimensions` of numbers must come first; the rest are the addresses that a question begins with."""
        self._dims = len(dimensions)
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
        self._careful = [reader for reader in readers.values() if reader not in plain]
        self._spare: list[Question] = []

    def asker(self, kernel: Callable[[int], T]) -> Callable[[Attributes], T]:
        """A function that puts an event to a kernel.

        All in one, because each call and each attribute of self takes as long as reading one of the event.
        """
        get_all, pack = _getter(self._plain), struct.Struct(f"={len(self._plain)}d").pack_into
        careful, spare, read_plain = self._careful, self._spare, self._read_plain
        take_spare, give_back = spare.pop, spare.append
        all_ordinary = _ORDINARY.issuperset

        def ask(event: Attributes) -> T:
            try:
                question = take_spare()
            except IndexError:
                question = self._new_question()
            _, keys, doubles, address = question
            try:
                values = get_all(event)
                if all_ordinary(map(type, values)):
                    pack(doubles, 0, *values)
                else:
                    read_plain(event, doubles)
            except (KeyError, OverflowError, struct.error):  # something is missing, or too large for a double
                read_plain(event, doubles)
            for reader in careful:
                reader.read(event, keys, doubles)
            answer = kernel(address)
            give_back(question)
            return answer

        return ask

    def take(self, event: Attributes) -> Question:
        """The event as a question that must be given back, for whoever wants its keys afterwards."""
        question = self._spare.pop() if self._spare else self._new_question()
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
        cells = np.array([*self._who, *[0] * self._dims], np.int64)
        keys = cells[len(self._who) :]
        doubles = memoryview(keys.view(np.float64))  # type: ignore[arg-type]  # NumPy arrays are buffers
        return Question(cells, keys, doubles, int(cells.ctypes.data))


def _getter(names: list[str]) -> Callable[[Attributes], tuple[object, ...]]:
    """A function that reads all these attributes of an event at once, raising KeyError where one is missing."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda event: tuple(event[name] for name in names)


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
