"""Steps of a batch that lists hits: which events visit a tile, which of its rows they match, whose each hit is.

A hit is a position. Hits are listed tile by tile, so they ascend for each event, and those of one visit form a run,
which is copied to its event at the end.

Numba's disk cache does not notice an edit of this file: see ``SOURCES_DIGEST`` in ``kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.matching.compiling import piece

from .lines import (
    LINE_BYTES,
    TILE_ROWS,
    address_of,
    compare_codes,
    copy_ints,
    expand_word,
    inlined,
    lesser,
    list_words,
    load_int32,
    load_int64,
    load_line,
    prefetch,
    store_int32,
    store_int64,
)
from .visits import (
    BLOCK_EVENTS,
    FAILED_BYTES,
    PART_BRIEFS,
    PART_DIMS,
    PART_LOOSE_BEGIN,
    PART_RECORDS,
    PART_TILE_TABLE,
    PART_TILES,
    PART_VISIT_BYTES,
    RECORD_BYTES,
    VISITS_MAX,
    WORDS_AT_ONCE,
    WORDS_BYTES,
    facets_begin,
    in_doubt,
    least_margin,
    part,
    row_bytes,
    settle,
    tile_records,
    visit_tile,
)

CANDIDATE_BYTES = 4 * 64 * (WORDS_AT_ONCE + 1)
END_BYTES = 8 * VISITS_MAX
GROUPS = BLOCK_EVENTS // 64


@inlined
def transpose_bits(source: int, stride: int, target: int, target_stride: int, buffer: int) -> None:
    """Transpose 64 x 64 bits."""
    for i in range(64):
        store_int64(buffer + 8 * i, load_int64(source + stride * i))
    width, mask = 32, np.int64(0xFFFFFFFF)
    while width != 0:
        for first in range(0, 64, 2 * width):
            for i in range(first, first + width):
                low, high = load_int64(buffer + 8 * i), load_int64(buffer + 8 * (i + width))
                moved = ((low >> width) ^ high) & mask
                store_int64(buffer + 8 * i, low ^ (moved << width))
                store_int64(buffer + 8 * (i + width), high ^ moved)
        width >>= 1
        mask ^= mask << width
    for i in range(64):
        store_int64(target + target_stride * i, load_int64(buffer + 8 * i))


@inlined
def list_hits(
    index: int,
    keys: int,
    codes: int,
    alive: int,
    masks: int,
    groups: int,
    visitors: int,
    counts: int,
    hits: Any,
    runs: Any,
    scratch: int,
) -> Any:
    """List the positions of all matches, tile by tile, and the runs in which they belong to one event; count them."""
    tiles, dims = part(index, PART_TILES), part(index, PART_DIMS)
    key_list = scratch + part(index, PART_VISIT_BYTES)
    code_list = key_list + 8 * VISITS_MAX
    near = code_list + 8 * VISITS_MAX
    found = near + LINE_BYTES * VISITS_MAX
    total, run_count = 0, 0
    for tile in range(tiles):
        visits = 0
        for group in range(groups):
            visits += expand_word(load_int64(masks + 8 * (GROUPS * tile + group)), 64 * group, visitors + 4 * visits)
        # Fewer visits touch too little of a tile to be worth reading all of it.
        step = LINE_BYTES if visits >= 64 else 0
        fetch, fetch_test = facets_begin(index, tile + 1), tests_begin(index, tile + 1)
        for chunk in range(0, visits, VISITS_MAX):
            count = min(visits - chunk, VISITS_MAX)
            for i in range(count):
                event = load_int32(visitors + 4 * (chunk + i))
                store_int64(key_list + 8 * i, keys + 8 * event * dims)
                store_int64(code_list + 8 * i, codes + event * row_bytes(dims))
            fetch = visit_tile(index, tile, key_list, code_list, count, alive, near, scratch, fetch, step)
            first = total
            total, hits, fetch_test = add_hits(
                index, tile, key_list, code_list, count, near, hits, total, found, scratch, fetch_test, step
            )
            runs = with_room(runs, run_count, VISITS_MAX)
            target = address_of(runs) + 8 * run_count
            run_count += add_runs(visitors + 4 * chunk, count, first, found + CANDIDATE_BYTES, counts, target)
        if step != 0:
            fetch_range(fetch, facets_begin(index, min(tile + 2, tiles)))
            fetch_range(fetch_test, tests_begin(index, min(tile + 2, tiles)))
    return hits, runs, run_count


@inlined
def fetch_range(begin: int, end: int) -> None:
    """Fetch what lies between two addresses into the cache."""
    for at in range(begin, end, LINE_BYTES):
        prefetch(at)


@inlined
def tests_begin(index: int, tile: int) -> int:
    """Address of what the rows of a tile are tested by, or of the end."""
    if part(index, PART_RECORDS) != 0:
        return tile_records(index, tile)
    return part(index, PART_BRIEFS) + 4 * load_int32(part(index, PART_LOOSE_BEGIN) + 4 * TILE_ROWS * tile)


@piece
def with_room(array: Any, used: int, more: int) -> Any:
    """The array, or a larger copy if it has no room for more cells."""
    if used + more <= array.size:
        return array
    grown = np.empty(2 * (used + more), array.dtype)
    for place in range(used):  # a slice would bring code along that words an error about its length
        grown[place] = array[place]
    return grown


@inlined
def add_hits(
    index: int,
    tile: int,
    keys: int,
    codes: int,
    count: int,
    lines: int,
    hits: Any,
    total: int,
    found: int,
    scratch: int,
    fetch: int,
    step: int,
) -> Any:
    """Append the rows that are left in the lines and pass the test of their loose entries; note each visit's end.

    Meanwhile memory is fetched as in ``visit_tile``.
    """
    words = scratch + FAILED_BYTES + 8 * VISITS_MAX
    bases, ends = words + WORDS_BYTES // 2, found + CANDIDATE_BYTES
    records = part(index, PART_RECORDS)
    listed = 0
    for i in range(count):
        store_int64(ends + 8 * i, 0)
        line = load_line(lines + LINE_BYTES * i)
        listed += list_words(line, TILE_ROWS * i, words + 8 * listed, bases + 8 * listed)
    hits = with_room(hits, total, 64 * listed + 1)
    for first in range(0, listed, WORDS_AT_ONCE):
        candidates = 0
        for i in range(first, min(first + WORDS_AT_ONCE, listed)):
            candidates += expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), found + 4 * candidates)
        if records != 0:
            total = test_records(
                index, tile, keys, codes, found, candidates, address_of(hits), total, ends, fetch, step
            )
            fetch += step * candidates
        else:
            total = test_briefs(index, tile, keys, codes, found, candidates, address_of(hits), total, ends)
    return total, hits, fetch


@piece
def test_records(
    index: int,
    tile: int,
    keys: int,
    codes: int,
    candidates: int,
    count: int,
    hits: int,
    total: int,
    ends: int,
    fetch: int,
    step: int,
) -> int:
    """Append the candidates (visit << 9 | place) that match, note each visit's end and return the last.

    A function of its own has enough registers for its loop.
    """
    records, begins = tile_records(index, tile), part(index, PART_LOOSE_BEGIN) + 4 * TILE_ROWS * tile
    for at in range(candidates, candidates + 4 * count, 4):
        prefetch(fetch)
        fetch += step
        visit, position = load_int32(at) >> 9, load_int32(at) & (TILE_ROWS - 1)
        verdict = compare_codes(load_int64(codes + 8 * visit), records + RECORD_BYTES * position)
        if in_doubt(verdict):
            verdict = settle(index, begins + 4 * position, load_int64(keys + 8 * visit))
        store_int32(hits + 4 * total, TILE_ROWS * tile + position)
        total += 1 - lesser(verdict, 1)
        store_int64(ends + 8 * visit, total)
    return total


@piece
def test_briefs(
    index: int, tile: int, keys: int, codes: int, candidates: int, count: int, hits: int, total: int, ends: int
) -> int:
    """As test_records, where there are too many dimensions for records."""
    begins, briefs = part(index, PART_LOOSE_BEGIN) + 4 * TILE_ROWS * tile, part(index, PART_BRIEFS)
    tests = load_int32(part(index, PART_TILE_TABLE) + 16 * tile + 4)
    for at in range(candidates, candidates + 4 * count, 4):
        visit, position = load_int32(at) >> 9, load_int32(at) & (TILE_ROWS - 1)
        place = begins + 4 * position
        least = least_margin(briefs, load_int32(place), load_int32(place + 4), load_int64(codes + 8 * visit), tests)
        wrong = least >> 63 & 1
        if least == 0:
            wrong = settle(index, place, load_int64(keys + 8 * visit))
        store_int32(hits + 4 * total, TILE_ROWS * tile + position)
        total += 1 - wrong
        store_int64(ends + 8 * visit, total)
    return total


@inlined
def add_runs(visitors: int, count: int, begin: int, ends: int, counts: int, target: int) -> int:
    """Write event << 32 | length for each visit with hits, add to the events' counts, return the number of runs."""
    filled = 0
    for i in range(count):
        end = max(load_int64(ends + 8 * i), begin)
        event, length = load_int32(visitors + 4 * i), end - begin
        store_int64(target + 8 * filled, event << 32 | length)
        filled += lesser(length, 1)
        place = counts + 8 * event
        store_int64(place, load_int64(place) + length)
        begin = end
    return filled


@inlined
def place_hits(hits: Any, runs: Any, run_count: int, offsets: Any, cursors: int, positions: Any) -> None:
    """Copy runs of hits to their events, whose counts are turned into cursors, and set where each event ends."""
    source, target = address_of(hits), address_of(positions)
    for i in range(len(offsets) - 1):
        offsets[i + 1] = offsets[i] + load_int64(cursors + 8 * i)
        store_int64(cursors + 8 * i, target + 4 * offsets[i])
    for i in range(run_count):
        run = load_int64(address_of(runs) + 8 * i)
        place, length = cursors + 8 * (run >> 32), run & 0xFFFFFFFF
        at = load_int64(place)
        store_int64(place, at + 4 * length)
        copy_ints(source, at, length)
        source += 4 * length
