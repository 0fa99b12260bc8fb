"""Steps of a batch that lists hits: which events visit a tile, which of its rows they match, whose each hit is.

A hit is ``event << 32 | position``. Hits are listed tile by tile, so positions ascend for each event, and
distributed to the events at the end. A row's codes decide nearly always; when they leave a doubt the hit is listed
all the same, its intervals are asked for, and once all of a round are on their way the doubts are settled: waiting
for main memory one by one would take longer than all else.

Numba's disk cache does not notice an edit of this file: see ``SOURCES_DIGEST`` in ``kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .lines import (
    LINE_BYTES,
    TILE_ROWS,
    address_of,
    expand_word,
    inlined,
    list_words,
    load_int32,
    load_int64,
    load_line,
    piece,
    prefetch,
    store_int32,
    store_int64,
)
from .visits import (
    BLOCK_EVENTS,
    FAILED_BYTES,
    PART_BRIEFS,
    PART_DIMS,
    PART_LOOSE,
    PART_LOOSE_BEGIN,
    PART_TILE_TABLE,
    PART_TILES,
    PART_VISIT_BYTES,
    VISITS_MAX,
    WORDS_BYTES,
    fails_any,
    least_margin,
    part,
    row_bytes,
    slots_begin,
    visit_tile,
)

DISCARDED = BLOCK_EVENTS  # Added to the event of a hit that turns out to be none.
HIT_WORDS = 256  # Words whose rows are tested together, so that many intervals can be fetched at a time.
CANDIDATE_BYTES = 4 * 64 * (HIT_WORDS + 1)
DOUBT_BYTES = 24 * 64 * HIT_WORDS
GROUPS = BLOCK_EVENTS // 64


@piece
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


@piece
def list_hits(
    index: int, keys: int, codes: int, alive: int, masks: int, groups: int, visitors: int, hits: Any, scratch: int
) -> Any:
    """List event << 32 | position of every match, tile by tile; meanwhile fetch the next tile into the cache."""
    tiles, dims = part(index, PART_TILES), part(index, PART_DIMS)
    key_list = scratch + part(index, PART_VISIT_BYTES)
    code_list = key_list + 8 * VISITS_MAX
    near = code_list + 8 * VISITS_MAX
    found = near + LINE_BYTES * VISITS_MAX
    begins, briefs = part(index, PART_LOOSE_BEGIN), part(index, PART_BRIEFS)
    total = 0
    for tile in range(tiles):
        visits = 0
        for group in range(groups):
            visits += expand_word(load_int64(masks + 8 * (GROUPS * tile + group)), 64 * group, visitors + 4 * visits)
        fetch, step = slots_begin(index, tile + 1), 0
        fetch_row, row_step = briefs + 4 * load_int32(begins + 4 * TILE_ROWS * (tile + 1)), 0
        if visits >= 64:
            # Fewer visits touch too little of a tile to be worth reading all of it.
            step = (slots_begin(index, min(tile + 2, tiles)) - fetch) // LINE_BYTES // visits + 1
            last_row = briefs + 4 * load_int32(begins + 4 * TILE_ROWS * min(tile + 2, tiles))
            row_step = (last_row - fetch_row) // LINE_BYTES // visits + 1
        for chunk in range(0, visits, VISITS_MAX):
            count = min(visits - chunk, VISITS_MAX)
            for i in range(count):
                for _ in range(step):
                    prefetch(fetch)
                    fetch += LINE_BYTES
                for _ in range(row_step):
                    prefetch(fetch_row)
                    fetch_row += LINE_BYTES
                event = load_int32(visitors + 4 * (chunk + i))
                store_int64(key_list + 8 * i, keys + 8 * event * dims)
                store_int64(code_list + 8 * i, codes + event * row_bytes(dims))
            visit_tile(index, tile, key_list, code_list, count, alive, near, scratch)
            total, hits = add_hits(
                index, tile, key_list, code_list, visitors + 4 * chunk, count, near, hits, total, found, scratch
            )
    return total, hits


@inlined
def add_hits(
    index: int,
    tile: int,
    keys: int,
    codes: int,
    visitors: int,
    count: int,
    lines: int,
    hits: Any,
    total: int,
    found: int,
    scratch: int,
) -> Any:
    """Append the rows that are left in the lines and pass the test of their loose entries."""
    words = scratch + FAILED_BYTES + 8 * VISITS_MAX
    bases, doubts = words + WORDS_BYTES // 2, found + CANDIDATE_BYTES
    begins, loose = part(index, PART_LOOSE_BEGIN) + 4 * TILE_ROWS * tile, part(index, PART_LOOSE)
    briefs = part(index, PART_BRIEFS)
    tests = load_int32(part(index, PART_TILE_TABLE) + 16 * tile + 4)
    listed = 0
    for i in range(count):
        line = load_line(lines + LINE_BYTES * i)
        listed += list_words(line, TILE_ROWS * i, words + 8 * listed, bases + 8 * listed)
    for first in range(0, listed, HIT_WORDS):
        candidates = 0
        for i in range(first, min(first + HIT_WORDS, listed)):
            candidates += expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), found + 4 * candidates)
        if total + candidates > hits.size:
            grown = np.empty(2 * (total + candidates), np.int64)
            grown[:total] = hits[:total]
            hits = grown
        target, doubtful = address_of(hits) + 8 * total, doubts
        for i in range(candidates):
            candidate = load_int32(found + 4 * i)
            position = candidate & (TILE_ROWS - 1)
            row, code = load_int64(keys + 8 * (candidate >> 9)), load_int64(codes + 8 * (candidate >> 9))
            event = load_int32(visitors + 4 * (candidate >> 9))
            store_int64(target, event << 32 | (TILE_ROWS * tile + position))
            place = begins + 4 * position
            least = least_margin(briefs, load_int32(place), load_int32(place + 4), code, tests)
            # Codes decide nearly always; intervals, which may be far away in memory, are asked for first and read then.
            store_int64(doubtful, target)
            store_int64(doubtful + 8, place)
            store_int64(doubtful + 16, row)
            doubtful += 24 * (((least - 1) & ~least) >> 63 & 1)
            target += 8 + 8 * (least >> 63)
        for doubt in range(doubts, doubtful, 24):
            prefetch(loose + 16 * load_int32(load_int64(doubt + 8)))
        for doubt in range(doubts, doubtful, 24):
            place = load_int64(doubt + 8)
            wrong = fails_any(loose, briefs, load_int32(place), load_int32(place + 4), load_int64(doubt + 16))
            hit = load_int64(doubt)
            store_int64(hit, load_int64(hit) | (wrong * DISCARDED) << 32)
        total = (target - address_of(hits)) >> 3
    return total, hits


@piece
def place_hits(hits: Any, count: int, offsets: Any, cursors: int, positions: Any) -> None:
    """Distribute hits to their events and set where each event ends."""
    events = len(offsets) - 1
    for i in range(BLOCK_EVENTS * 2):
        store_int64(cursors + 8 * i, 0)
    source, target = address_of(hits), address_of(positions)
    for i in range(count):
        place = cursors + 8 * (load_int64(source + 8 * i) >> 32)
        store_int64(place, load_int64(place) + 1)
    for i in range(events):
        offsets[i + 1] = offsets[i] + load_int64(cursors + 8 * i)
        store_int64(cursors + 8 * i, target + 4 * offsets[i])
    for i in range(BLOCK_EVENTS, 2 * BLOCK_EVENTS):
        store_int64(cursors + 8 * i, cursors + 16 * BLOCK_EVENTS)
    for i in range(count):
        hit = load_int64(source + 8 * i)
        place = cursors + 8 * (hit >> 32)
        at = load_int64(place)
        store_int32(at, hit)
        store_int64(place, at + 4 - (hit >> 40 & 4))
