"""Numba kernels of the tile index: the functions that Python calls.

``visits`` tells how one event meets one tile, ``lines`` what a line is. A batch runs in three passes over a block of
events, tile by tile in the second one, while the tile's facets sit in the cache. There are two ways:

- Where all tiles are exact, matches abound. (1) List the tiles of each event; (2) write each visit's exact line to the
  place it has in event order; (3) expand lines into positions, which so leave in the order the caller wants.
- Where tiles are filtered, most lines hold a bit or two, and a line for each visit would be megabytes of zeros.
  (1) Mark the tiles of each event and transpose the bitmap, so that each tile has its events; (2) list the hits of
  each tile; (3) distribute them to their events, run by run.

Rejected for the second way: lines for each visit (a block of them leaves the cache); coarser codes, which leave many
rows in doubt (each waits for its interval to come from main memory); fetching the next tile in bursts (twice the time).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.matching.compiling import brief_kernel, kernel, piece

from .arrays import numbers
from .hits import (
    CANDIDATE_BYTES,
    END_BYTES,
    GROUPS,
    list_hits,
    place_hits,
    transpose_bits,
)
from .lines import (
    LINE_BYTES,
    TILE_ROWS,
    address_of,
    count_line,
    expand_word,
    inlined,
    list_words,
    load_int32,
    load_int64,
    load_line,
    prefetch,
    store_int64,
    store_line,
    word_mask,
)
from .visits import (
    BLOCK_EVENTS,
    PART_DIMS,
    PART_LOOSE_BITS,
    PART_SUMMARIES,
    PART_TILE_LINES,
    PART_TILE_TABLE,
    PART_TILES,
    PART_VISIT_BYTES,
    VISITS_MAX,
    WORDS_BYTES,
    clear_failing,
    code_keys,
    facets_begin,
    list_tiles,
    mark_tiles,
    part,
    row_bytes,
    visit_tile,
)

# First 16 hex digits of the SHA-256 of lines.py, visits.py and hits.py. Numba's disk cache notices an edit only in the
# file of the cached function, and these are compiled into the kernels here: a new digest edits this file, too.
SOURCES_DIGEST = "7b520cadd9a96617"
CHUNK_LINES = 64  # Lines whose words are listed before they are expanded: 8 KiB, a part of the L1 cache.
NEAR_BYTES = VISITS_MAX * (16 + LINE_BYTES)  # Rows of keys, rows of codes and lines of the events in a visit.

# Where in a question lie: the address of the index, that of the cell with the address of the bitmap of living rows,
# that of the names (int32) of positions, how many of the keys are doubles still, and the keys.
QUESTION_INDEX, QUESTION_ALIVE, QUESTION_NAMES, QUESTION_DOUBLES, QUESTION_KEYS = 0, 8, 16, 24, 32


@inlined
def check_arguments(index: int, keys: Any, alive: Any) -> None:
    """Refuse what raw addresses would misread; the type tests vanish at compile time."""
    contiguous = keys.flags.c_contiguous and alive.flags.c_contiguous
    if keys.itemsize != 8 or alive.itemsize != 8 or not contiguous:
        raise ValueError("keys must be C-contiguous int64 and alive contiguous uint64")
    if keys.shape[1] != part(index, PART_DIMS) or alive.size < 8 * part(index, PART_TILES):
        raise ValueError("keys need one column a dimension and alive 8 words a tile")


@inlined
def hold(space: Any) -> None:
    """Keep an array until here: Numba frees it after the last use that it sees, and sees no raw address."""
    space[0] = 0


@piece
def count_lines(lines: int, count: int) -> int:
    """Set bits in count lines."""
    total = 0
    for i in range(count):
        total += count_line(load_line(lines + LINE_BYTES * i))
    return total


@piece
def expand_lines(lines: int, tiles: int, count: int, words: int, target: int) -> int:
    """Write the positions (int32) of count lines that belong to the tiles listed at tiles."""
    bases = words + WORDS_BYTES // 2
    start = target
    for chunk in range(0, count, CHUNK_LINES):
        listed = 0
        for i in range(chunk, min(chunk + CHUNK_LINES, count)):
            base = TILE_ROWS * load_int32(tiles + 4 * i)
            line = load_line(lines + LINE_BYTES * i)
            listed += list_words(line, base, words + 8 * listed, bases + 8 * listed)
        for i in range(listed):
            target += 4 * expand_word(load_int64(words + 8 * i), load_int64(bases + 8 * i), target)
    return (target - start) >> 2


# --- One event ---------------------------------------------------------------------------------------------


def event_bytes(visit: int, dims: int, summaries: int, tiles: int) -> int:
    """Bytes for one event: notes of a visit, words, summary rows, codes, tiles."""
    return visit + WORDS_BYTES + 8 * summaries + (2 * dims + 16) + 4 * tiles + 1024


@piece
def exact_line(index: int, tile: int, keys: int, codes: int, alive: int, line: int, scratch: int) -> None:
    """The exact line of one event; keys and codes list one address each."""
    visit_tile(index, tile, keys, codes, 1, alive, line, scratch)
    if part(index, PART_LOOSE_BITS) != 0 and word_mask(load_line(line)) != 0:
        clear_failing(index, tile, keys, codes, 1, line, scratch)


@inlined
def exists_at(index: int, keys: int, alive: int, space: int) -> bool:
    scratch = (space + 63) & ~63
    line = scratch + part(index, PART_VISIT_BYTES)
    lists = line + LINE_BYTES
    words = lists + LINE_BYTES
    rows = words + 2 * LINE_BYTES
    codes = rows + 8 * part(index, PART_SUMMARIES)
    tiles = codes + row_bytes(part(index, PART_DIMS))
    code_keys(index, keys, codes, rows)
    count = list_tiles(index, rows, words, tiles)
    store_int64(lists, keys)
    store_int64(lists + 8, codes)
    for i in range(count):
        exact_line(index, load_int32(tiles + 4 * i), lists, lists + 8, alive, line, scratch)
        if word_mask(load_line(line)) != 0:
            return True
    return False


@brief_kernel
def exists_event(question: int) -> bool:
    """Whether any row matches the event of a question; one bare address is what Python hands over fastest."""
    index, keys = asked(question)
    return exists_at(index, keys, living(question), spare_space(index, keys))


@brief_kernel
def match_event(question: int) -> Any:
    """The names of the rows that match the event of a question, in the order of their positions."""
    index, keys = asked(question)
    positions = positions_at(index, keys, living(question), spare_space(index, keys))
    names = load_int64(question + QUESTION_NAMES)
    for i in range(positions.size):
        positions[i] = load_int32(names + 4 * positions[i])
    return positions


@inlined
def asked(question: int) -> tuple[int, int]:
    """The index that a question is put to, and the address of its keys, doubles no longer."""
    keys = question + QUESTION_KEYS
    for at in range(keys, keys + 8 * load_int64(question + QUESTION_DOUBLES), 8):
        store_int64(at, double_key(load_int64(at)))
    return load_int64(question + QUESTION_INDEX), keys


@inlined
def spare_space(index: int, keys: int) -> int:
    """The scratch space that a question brings with it, behind its keys: making some would take as long as a visit."""
    return keys + 8 * part(index, PART_DIMS)


@inlined
def living(question: int) -> int:
    """The address of the bitmap of rows that live now: it moves when the first one dies."""
    return load_int64(load_int64(question + QUESTION_ALIVE))


@piece
def double_key(bits: int) -> int:
    """The key of a double, given its bits: they ascend with the number; NaN becomes MISSING."""
    if bits < 0:
        bits ^= 0x7FFFFFFFFFFFFFFF
        if bits == -1:  # minus zero
            bits = 0
    if bits > 0x7FF0000000000000 or bits < -0x7FF0000000000001:  # beyond the infinities
        return -0x8000000000000000
    return bits


@piece
def positions_at(index: int, keys: int, alive: int, space: int) -> Any:
    scratch = (space + 63) & ~63
    words = scratch + part(index, PART_VISIT_BYTES)
    rows = words + WORDS_BYTES
    codes = rows + 8 * part(index, PART_SUMMARIES)
    tiles = codes + row_bytes(part(index, PART_DIMS))
    code_keys(index, keys, codes, rows)
    count = list_tiles(index, rows, words, tiles)
    line_space = np.empty(8 * count + 8, np.int64)
    lines = (address_of(line_space) + 63) & ~63
    store_int64(words, keys)
    store_int64(words + 8, codes)
    for i in range(count):
        line = lines + LINE_BYTES * i
        exact_line(index, load_int32(tiles + 4 * i), words, words + 8, alive, line, scratch)
    total = count_lines(lines, count)
    positions = np.empty(total + 64, np.int32)
    expand_lines(lines, tiles, count, words, address_of(positions))
    hold(line_space)
    return positions[:total]


# --- A batch with many matches a tile: a line for each pair of an event and a tile ---------------------------


def pairs_bytes(visit: int, dims: int, summaries: int, tiles: int, pairs: int) -> int:
    """Bytes that match_pairs needs for blocks of up to ``pairs`` pairs of an event and a tile."""
    fixed = (
        visit
        + NEAR_BYTES
        + WORDS_BYTES
        + 8 * (summaries + tiles + BLOCK_EVENTS)
        + BLOCK_EVENTS * (2 * dims + 24)
        + 1024
    )
    return fixed + (LINE_BYTES + 12) * pairs + 1024


@kernel
def match_pairs(index: int, keys: Any, alive: Any, space: Any, pairs: int, positions: Any, lists: bool) -> Any:
    """Positions that match each event, one event after the other, and the events' offsets among them.

    The positions are written to the array given, as far as it reaches; if they are not to be listed, only the offsets
    are right. Two kernels for that would take twice as long to compile.
    """
    check_arguments(index, keys, alive)
    events = keys.shape[0]
    offsets = numbers(events + 1, 0)
    total, event = 0, 0
    while event < events:
        block, begins, lines, pair_tiles, words = block_lines(index, keys, alive, space, pairs, event)
        if lists:
            found = count_lines(lines, load_int64(begins + 8 * block))
            positions = make_room(positions, total, found, block, events - event)
        for i in range(block):
            begin = load_int64(begins + 8 * i)
            count = load_int64(begins + 8 * i + 8) - begin
            if lists:
                target = address_of(positions) + 4 * total
                total += expand_lines(lines + LINE_BYTES * begin, pair_tiles + 4 * begin, count, words, target)
            else:
                total += count_lines(lines + LINE_BYTES * begin, count)
            offsets[event + i + 1] = total
        event += block
    return positions[: total if lists else 0], offsets


@inlined
def block_lines(index: int, keys: Any, alive: Any, space: Any, pairs: int, event: int) -> tuple[int, ...]:
    """The exact lines of all pairs of some events from one on and their tiles.

    Returns how many events there are, and the addresses of each one's first pair, the lines, the tiles of the pairs
    and some scratch space.
    """
    tiles, dims, events = part(index, PART_TILES), keys.shape[1], keys.shape[0]
    scratch = (address_of(space) + 63) & ~63
    words = scratch + part(index, PART_VISIT_BYTES) + NEAR_BYTES
    rows = words + WORDS_BYTES
    codes = rows + 8 * part(index, PART_SUMMARIES)
    begins = codes + BLOCK_EVENTS * row_bytes(dims)
    counts = begins + 8 * (BLOCK_EVENTS + 1)
    lines = (counts + 8 * (tiles + 2) + 63) & ~63
    by_tile = lines + LINE_BYTES * pairs
    pair_tiles = by_tile + 8 * pairs
    block_keys = address_of(keys) + 8 * event * dims
    # Pass 1: the tiles of each event, until the block or its space for pairs is full.
    block, filled = 0, 0
    while block < BLOCK_EVENTS and event + block < events and filled + tiles <= pairs:
        store_int64(begins + 8 * block, filled)
        code_keys(index, block_keys + 8 * block * dims, codes + block * row_bytes(dims), rows)
        filled += list_tiles(index, rows, words, pair_tiles + 4 * filled)
        block += 1
    store_int64(begins + 8 * block, filled)
    # Pass 2: the exact line of each pair.
    group_by_tile(begins, block, pair_tiles, tiles, counts, by_tile)
    visit_pairs(index, block_keys, codes, address_of(alive), counts, by_tile, lines, scratch)
    return block, begins, lines, pair_tiles, words


@piece
def make_room(positions: Any, total: int, found: int, block: int, left: int) -> Any:
    """Room for what a block of events has found; one block of a longer batch predicts the others."""
    if total + found + 64 <= positions.size:
        return positions
    # An eighth more spares most later moves.
    more = found if block == left else found * left // block * 9 // 8
    grown = np.empty(total + max(more, found) + 64, np.int32)
    for place in range(total):
        grown[place] = positions[place]
    return grown


@inlined
def group_by_tile(begins: int, events: int, pair_tiles: int, tiles: int, counts: int, by_tile: int) -> None:
    """Counting sort of the pairs by tile: by_tile gets event << 32 | pair, counts each tile's begin."""
    for tile in range(tiles + 2):
        store_int64(counts + 8 * tile, 0)
    pairs = load_int64(begins + 8 * events)
    for pair in range(pairs):
        place = counts + 8 * load_int32(pair_tiles + 4 * pair) + 16
        store_int64(place, load_int64(place) + 1)
    for tile in range(tiles):
        place = counts + 8 * tile + 16
        store_int64(place, load_int64(place) + load_int64(place - 8))
    # A tile's cell, one further on, advances from its begin to its end: which is the next tile's begin.
    for event in range(events):
        for pair in range(load_int64(begins + 8 * event), load_int64(begins + 8 * event + 8)):
            place = counts + 8 * load_int32(pair_tiles + 4 * pair) + 8
            at = load_int64(place)
            store_int64(by_tile + 8 * at, event << 32 | pair)
            store_int64(place, at + 1)


@inlined
def visit_pairs(
    index: int, keys: int, codes: int, alive: int, counts: int, by_tile: int, lines: int, scratch: int
) -> None:
    """Write the line of every pair, tile by tile; meanwhile fetch the next tile's facets into the cache."""
    tiles, dims = part(index, PART_TILES), part(index, PART_DIMS)
    key_list = scratch + part(index, PART_VISIT_BYTES)
    code_list = key_list + 8 * VISITS_MAX
    near = code_list + 8 * VISITS_MAX
    for tile in range(tiles):
        first, last = load_int64(counts + 8 * tile), load_int64(counts + 8 * tile + 8)
        fetch, step = facets_begin(index, tile + 1), 0
        if last - first >= 64:
            # Fewer visits touch too little of a tile to be worth reading all of it.
            step = (facets_begin(index, min(tile + 2, tiles)) - fetch) // LINE_BYTES // (last - first) + 1
        for chunk in range(first, last, VISITS_MAX):
            count = min(last - chunk, VISITS_MAX)
            for i in range(count):
                for _ in range(step):
                    prefetch(fetch)
                    fetch += LINE_BYTES
                event = load_int64(by_tile + 8 * (chunk + i)) >> 32
                store_int64(key_list + 8 * i, keys + 8 * event * dims)
                store_int64(code_list + 8 * i, codes + event * row_bytes(dims))
            visit_tile(index, tile, key_list, code_list, count, alive, near, scratch)
            if load_int32(part(index, PART_TILE_TABLE) + 16 * tile + 4) != 0:
                clear_failing(index, tile, key_list, code_list, count, near, scratch)
            for i in range(count):
                pair = load_int64(by_tile + 8 * (chunk + i)) & 0xFFFFFFFF
                store_line(lines + LINE_BYTES * pair, load_line(near + LINE_BYTES * i))


# --- A batch with few matches a tile: a list of hits ---------------------------------------------------------


def hits_bytes(visit: int, dims: int, summaries: int, tiles: int) -> int:
    """Bytes that match_hits needs."""
    fixed = visit + NEAR_BYTES + CANDIDATE_BYTES + END_BYTES + 8 * summaries + 12 * BLOCK_EVENTS + 4096
    words = -(-tiles // TILE_ROWS) * LINE_BYTES
    return fixed + BLOCK_EVENTS * (2 * dims + 24 + words) + 8 * GROUPS * 8 * words


@kernel
def match_hits(index: int, keys: Any, alive: Any, space: Any, hits: Any, runs: Any, positions: Any) -> Any:
    """As match_pairs, by way of hits; also returns the space for hits and runs, which may have grown."""
    check_arguments(index, keys, alive)
    dims, events = keys.shape[1], keys.shape[0]
    scratch = (address_of(space) + 63) & ~63
    rows = scratch + part(index, PART_VISIT_BYTES) + NEAR_BYTES + CANDIDATE_BYTES + END_BYTES
    cursors = rows + 8 * part(index, PART_SUMMARIES)
    visitors = cursors + 8 * BLOCK_EVENTS
    codes = visitors + 4 * (BLOCK_EVENTS + 64)
    marks = (codes + BLOCK_EVENTS * row_bytes(dims) + 63) & ~63
    mark_bytes = LINE_BYTES * part(index, PART_TILE_LINES)
    masks = marks + BLOCK_EVENTS * mark_bytes
    offsets = numbers(events + 1, 0)
    for event in range(0, events, BLOCK_EVENTS):
        block = min(BLOCK_EVENTS, events - event)
        groups = (block + 63) >> 6
        block_keys = address_of(keys) + 8 * event * dims
        # Pass 1: a bitmap of tiles for each event, then a bitmap of events for each tile.
        for i in range(block):
            code_keys(index, block_keys + 8 * i * dims, codes + i * row_bytes(dims), rows)
            mark_tiles(index, rows, marks + i * mark_bytes)
        for at in range(marks + block * mark_bytes, marks + 64 * groups * mark_bytes, 8):
            store_int64(at, 0)
        for group in range(groups):
            for word in range(mark_bytes >> 3):
                source = marks + 64 * group * mark_bytes + 8 * word
                transpose_bits(source, mark_bytes, masks + 8 * GROUPS * 64 * word + 8 * group, 8 * GROUPS, scratch)
        # Pass 2: the hits of each tile.
        for i in range(block):
            store_int64(cursors + 8 * i, 0)
        hits, runs, run_count = list_hits(
            index, block_keys, codes, address_of(alive), masks, groups, visitors, cursors, hits, runs, scratch
        )
        # Pass 3: make room and distribute.
        found = 0
        for i in range(block):
            found += load_int64(cursors + 8 * i)
        positions = make_room(positions, offsets[event], found, block, events - event)
        place_hits(hits, runs, run_count, offsets[event : event + block + 1], cursors, positions)
    return positions[: offsets[events]], offsets, hits, runs
