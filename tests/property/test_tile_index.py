"""TileIndex against a NumPy scan: whatever the shape of rows and keys, the answers are the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from siftcast.matching.tiles import kernels
from siftcast.matching.tiles.event_keys import EventKeys
from siftcast.matching.tiles.index import TileIndex
from siftcast.matching.tiles.ordering import MISSING
from siftcast.model.values import Kind

KEY_MAX = int(np.iinfo(np.int64).max)
Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    rows: int
    dims: int
    row: Array
    dim: Array
    low: Array
    high: Array
    events: Array
    alive: Array

    def build(self) -> TileIndex:
        return TileIndex.build(rows=self.rows, dims=self.dims, row=self.row, dim=self.dim, low=self.low, high=self.high)


def draw_keys(rng: np.random.Generator, shape: Any, kind: str) -> Array:
    """Keys of a distribution that is hard in its own way."""
    if kind == "equal":
        return np.full(shape, 7, np.int64)
    if kind == "few":
        return rng.integers(0, 4, shape)
    if kind == "zipf":
        return np.minimum(rng.zipf(1.3, shape), 10**6).astype(np.int64)
    if kind == "lognormal":
        return (rng.lognormal(0, 4, shape) * 1000).clip(0, 1e15).astype(np.int64)
    if kind == "extreme":
        return rng.choice(np.array([MISSING + 1, MISSING + 2, -1, 0, 1, KEY_MAX - 1, KEY_MAX]), shape)
    if kind == "open":
        return rng.integers(MISSING + 1, KEY_MAX, shape, endpoint=True)
    return rng.integers(0, 1000, shape)


KINDS = ("equal", "few", "zipf", "lognormal", "extreme", "open", "uniform")


def make_case(
    *, seed: int, rows: int, dims: int, most: int, kind: str, points: float, skew: float, events: int = 20
) -> Case:
    """Random rows that constrain 0 to ``most`` dimensions; a share ``points`` of them are equalities."""
    rng = np.random.default_rng(seed)
    count = rng.integers(0, min(most, dims) + 1, rows)
    weight = 1 / (1 + np.arange(dims)) ** skew
    chosen = np.argsort(rng.exponential(1, (rows, dims)) / weight, axis=1)
    picked = np.arange(dims) < count[:, None]
    row, dim = np.repeat(np.arange(rows), count), chosen[picked]
    ends = np.sort(draw_keys(rng, (2, len(row)), kind), axis=0)
    low, high = ends[0], np.where(rng.random(len(row)) < points, ends[0], ends[1])
    if kind == "open":  # `x > -5` and the like: nothing ends, so keys may be more than 2^63 above all there is
        low, high = np.where(dim % 2, MISSING + 1, -np.abs(low)), np.full(len(row), KEY_MAX)
    shuffled = rng.permutation(len(row))
    keys = draw_keys(rng, (events, dims), kind)
    keys[rng.random(keys.shape) < 0.1] = MISSING
    if len(row):
        # Ends of intervals and their neighbours are where an index goes wrong.
        ends_hit = rng.random(keys.shape) < 0.3
        near = rng.choice(np.concatenate([low, high]), keys.shape)
        off = rng.integers(-1, 2, keys.shape)
        safe = (near > MISSING + 1) & (near < KEY_MAX)
        keys = np.where(ends_hit, np.where(safe, near + off, near), keys)
    tiles = -(-rows // 512)
    alive = rng.integers(0, 2**64, tiles * 8, dtype=np.uint64)
    return Case(rows, dims, row[shuffled], dim[shuffled], low[shuffled], high[shuffled], keys, alive)


def scan(case: Case, keys: Array) -> Array:
    """Rows that match one event, found by testing every entry."""
    key = keys[case.dim]
    failed = (key < case.low) | (key > case.high) | (key == MISSING)
    matches = np.ones(case.rows, bool)
    matches[case.row[failed]] = False
    return np.flatnonzero(matches)


class SingleEvents:
    """Makes a question of an event's keys, as a segment puts it; positions are their own names."""

    def __init__(self, index: TileIndex, alive: Array) -> None:
        self._held = alive, np.array([alive.ctypes.data]), np.arange(index.rows, dtype=np.int32)
        _, living, names = self._held
        self._question = EventKeys(
            [((f"a{dim}",), Kind.TIMESTAMP) for dim in range(index.dims)],
            {},
            index=index.address,
            alive=living.ctypes.data,
            names=names.ctypes.data,
            scratch_bytes=index.event_bytes,
        ).take({})

    def ask(self, keys: Array) -> int:
        self._question.keys[:] = keys
        return self._question.address


def check_index(index: TileIndex, case: Case) -> None:
    """All four ways to ask give the scan's answer, with and without an alive bitmap."""
    assert np.array_equal(np.sort(index.order), np.arange(case.rows))
    live = np.unpackbits(case.alive.view(np.uint8), bitorder="little")
    for alive in (None, case.alive):
        positions, offsets = index.match(case.events, alive)
        single = SingleEvents(index, index.all_alive if alive is None else alive)
        assert (positions.dtype, offsets.dtype, offsets[0]) == (np.int32, np.int64, 0)
        assert np.array_equal(index.count(case.events, alive), np.diff(offsets))
        for number, keys in enumerate(case.events):
            found = positions[offsets[number] : offsets[number + 1]]
            wanted = np.zeros(case.rows, bool)
            wanted[scan(case, keys)] = True
            in_order = wanted[index.order] & (True if alive is None else live[: case.rows] == 1)
            assert np.array_equal(found, np.flatnonzero(in_order))
            assert np.array_equal(kernels.match_event(single.ask(keys)), found)
            assert kernels.exists_event(single.ask(keys)) == (len(found) > 0)


cases = st.builds(
    make_case,
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from((0, 1, 2, 63, 64, 65, 200, 511, 512, 513, 1100, 3000)),
    dims=st.sampled_from((1, 2, 3, 5, 17, 40)),
    most=st.integers(0, 6),
    kind=st.sampled_from(KINDS),
    points=st.sampled_from((0.0, 0.5, 0.9, 1.0)),
    skew=st.sampled_from((0.0, 1.0, 3.0)),
)


@given(case=cases)
@settings(max_examples=150, deadline=None)
def test_index_agrees_with_a_scan(case: Case) -> None:
    check_index(case.build(), case)


@pytest.mark.parametrize("exact_rows_min", [0.0, 0.4, float("inf")])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_and_filtered_tiles_agree_with_a_scan(
    kind: str, exact_rows_min: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siftcast.matching.tiles.packing.EXACT_ROWS_MIN", exact_rows_min)
    case = make_case(seed=7, rows=5_000, dims=12, most=10, kind=kind, points=0.2, skew=1, events=100)
    index = case.build()
    exact = index.arrays()["tile_table"][:-1, 2].sum()
    # In between, some of these cases mix both kinds of tiles.
    assert exact_rows_min == 0.4 or exact == (index.tiles if exact_rows_min == 0 else 0)
    check_index(index, case)


@pytest.mark.parametrize("dims", [12, 63, 64])
@pytest.mark.parametrize("kind", ["few", "extreme", "open", "uniform"])
def test_filtered_tiles_hold_rows_of_any_number_of_intervals(
    dims: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record has six lanes and can name 63 dimensions; the index must be right on both sides of these limits."""
    monkeypatch.setattr("siftcast.matching.tiles.packing.EXACT_ROWS_MIN", float("inf"))
    case = make_case(seed=5, rows=1500, dims=dims, most=9, kind=kind, points=0.2, skew=0.5, events=60)
    index = case.build()
    assert (index.arrays()["records"].size > 0) == (dims <= 63)
    check_index(index, case)


def test_more_events_than_a_block_visit_filtered_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siftcast.matching.tiles.packing.EXACT_ROWS_MIN", float("inf"))
    case = make_case(seed=8, rows=3_000, dims=6, most=5, kind="uniform", points=0.0, skew=0, events=1_100)
    check_index(case.build(), case)


@pytest.mark.parametrize("kind", KINDS)
def test_many_tiles_agree_with_a_scan(kind: str) -> None:
    case = make_case(seed=1, rows=40_000, dims=6, most=5, kind=kind, points=0.3, skew=1, events=60)
    check_index(case.build(), case)


def test_two_hundred_dimensions_agree_with_a_scan() -> None:
    case = make_case(seed=2, rows=20_000, dims=200, most=6, kind="uniform", points=0.2, skew=0, events=40)
    check_index(case.build(), case)


def test_more_than_512_tiles_and_several_blocks_agree_with_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siftcast.matching.tiles.index.PAIRS_MAX", 1)
    case = make_case(seed=3, rows=300_000, dims=4, most=3, kind="uniform", points=0.0, skew=1, events=8)
    check_index(case.build(), case)


def test_identical_rows_all_match_or_none() -> None:
    rows = 5_000
    case = Case(
        rows,
        2,
        np.tile(np.arange(rows), 2),
        np.repeat([0, 1], rows),
        np.repeat([5, -3], rows),
        np.repeat([5, 8], rows),
        np.array([[5, 0], [5, 9], [4, 0], [6, 0], [5, 8], [5, -3], [MISSING, 0]]),
        np.full(80, 2**64 - 1, np.uint64),
    )
    check_index(case.build(), case)


def test_no_event_gives_an_empty_answer() -> None:
    case = make_case(seed=4, rows=600, dims=3, most=2, kind="few", points=0.5, skew=0)
    positions, offsets = case.build().match(np.zeros((0, 3), np.int64))
    assert (len(positions), offsets.tolist()) == (0, [0])


def test_arrays_restore_the_index_even_when_unaligned() -> None:
    case = make_case(seed=5, rows=3_000, dims=8, most=5, kind="zipf", points=0.5, skew=1)
    stored = {}
    for name, array in case.build().arrays().items():
        raw = bytearray(b"x") + array.tobytes()
        stored[name] = np.frombuffer(raw, np.uint8)[1:].copy().view(array.dtype).reshape(array.shape)
    check_index(TileIndex.from_arrays(stored), case)


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": [MISSING]},
        {"low": [3], "high": [2]},
        {"row": [1]},
        {"dim": [1]},
        {"dim": [-1]},
        {"high": [9, 9]},
    ],
)
def test_bad_entries_are_refused(wrong: dict[str, list[int]]) -> None:
    entry = {"row": [0], "dim": [0], "low": [1], "high": [2]} | wrong
    with pytest.raises(ValueError, match=r"must|outside"):
        TileIndex.build(rows=1, dims=1, **{name: np.array(value, np.int64) for name, value in entry.items()})


def test_more_dimensions_than_an_index_can_hold_are_refused() -> None:
    none = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="65535 dims"):
        TileIndex.build(rows=1, dims=65_536, row=none, dim=none, low=none, high=none)


def test_two_intervals_of_one_row_on_one_dimension_are_refused() -> None:
    two = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="two intervals"):
        TileIndex.build(rows=1, dims=1, row=two, dim=two, low=two, high=two + 1)


def test_keys_and_bitmaps_of_the_wrong_shape_are_refused() -> None:
    case = make_case(seed=6, rows=600, dims=3, most=2, kind="few", points=0.5, skew=0)
    index = case.build()
    for keys in (np.zeros((4, 2), np.int64), np.zeros((4, 3), np.int32)):
        with pytest.raises(ValueError, match="keys"):
            index.match(keys)
    with pytest.raises(ValueError, match="contiguous"):
        index.match(np.zeros((3, 4), np.int64).T)
    with pytest.raises(ValueError, match="8 words a tile"):
        index.match(np.zeros((4, 3), np.int64), np.zeros(8, np.uint64))


@pytest.mark.full
def test_portable_kernels_agree_with_a_scan() -> None:
    """The loops that replace compress instructions, forced by a target without them."""
    program = (
        "from tests.property.test_tile_index import check_index, make_case, KINDS\n"
        "from siftcast.matching.tiles import lines, packing\n"
        "assert not lines.COMPRESSES\n"
        "for packing.EXACT_ROWS_MIN in (0.0, float('inf')):\n"
        "    for seed, kind in enumerate(KINDS):\n"
        "        case = make_case(seed=seed, rows=3000, dims=5, most=5, kind=kind, points=0.3, skew=1)\n"
        "        check_index(case.build(), case)\n"
    )
    path = os.pathsep.join(["src", ".", *sys.path])
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "PYTHONPATH": path}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 0


def test_the_digest_of_what_kernels_compile_in_is_current() -> None:
    """Numba would run stale machine code after an edit of these files; a new digest makes it compile again."""
    files = [Path(kernels.__file__).with_name(name) for name in ("lines.py", "visits.py", "hits.py")]
    found = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    assert found == kernels.SOURCES_DIGEST, f'set SOURCES_DIGEST = "{found}" in {kernels.__file__}'
