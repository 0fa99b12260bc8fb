"""Compiled loops that write the facets of tiles; ``packing`` tells what a facet is."""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.matching.compiling import kernel, piece
from siftcast.matching.tiles.arrays import numbers

from .lines import LINE_BYTES
from .ordering import KEY_MAX, MISSING
from .visits import (
    GROUP,
    MAP_LINES,
    PIVOTS,
)

FILTER_CHANGES_MAX = 6  # Ends of intervals inside a filter's line.
LINE_WORDS = LINE_BYTES // 8
INSIDE_MAX = 7
CLOSES = np.uint16(1 << 15)


@kernel
def distribute(order: Any, values: Any, owners: Any, facet: Any, at: Any, values_out: Any, owners_out: Any) -> None:
    """Append each change point, taken in the given order, to its facet."""
    for i in order:
        place = at[facet[i]]
        values_out[place] = values[i]
        owners_out[place] = owners[i]
        at[facet[i]] = place + 1


@piece
def next_edge(values: Any, edge: int, end: int) -> int:
    """Index of the edge after the one at index edge: equal values are no more inside, seven others may be."""
    after = edge + 1
    while after < end and values[after] == values[edge]:
        after += 1
    return min(after + INSIDE_MAX, end)


@kernel
def count_edges(values: Any, begin: Any) -> Any:
    """Number of edges of each facet."""
    counts = numbers(len(begin) - 1, 0)
    for facet in range(len(counts)):
        at = begin[facet]
        while at < begin[facet + 1]:
            counts[facet] += 1
            at = next_edge(values, at, begin[facet + 1])
    return counts


@kernel
def fill_facets(table: Any, values: Any, owners: Any, begin: Any, data: Any, shorts: Any) -> None:
    """Write edges, lines, values and positions of every facet."""
    state = numbers(LINE_WORDS, 0)
    one = np.int64(1)
    for facet in range(len(begin) - 1):
        if begin[facet] == begin[facet + 1]:
            continue
        end, edges = begin[facet + 1], np.int64(table[facet, 1])
        edge_at = np.int64(table[facet, 2]) * LINE_WORDS
        edge_end = edge_at + np.int64(table[facet, 3]) * LINE_WORDS
        data[edge_at:edge_end] = KEY_MAX
        line_at, value_at = edge_end, edge_end + (edges + 1) * LINE_WORDS
        place_at = 4 * (value_at + (edges + 1) * LINE_WORDS)
        data[value_at : value_at + (edges + 1) * LINE_WORDS] = MISSING
        state[:] = -1
        for i in range(begin[facet], end):
            if owners[i] < CLOSES:
                state[owners[i] >> 6] &= ~(one << np.int64(owners[i] & 63))
        put_line(data, line_at, state)
        shorts[place_at + INSIDE_MAX] = 0xFF
        at = applied = begin[facet]
        for bucket in range(1, edges + 1):
            put_edge(data, edge_at, edges, bucket - 1, values[at], GROUP)
            while applied < end and values[applied] <= values[at]:
                place = np.int64(owners[applied] & ~CLOSES)
                bit = one << (place & 63)
                if owners[applied] < CLOSES:
                    state[place >> 6] |= bit
                else:
                    state[place >> 6] &= ~bit
                applied += 1
            at = next_edge(values, at, end)
            line = line_at + bucket * LINE_WORDS
            put_line(data, line, state)
            opens = 0xFF
            inside = applied
            while inside < end and (at == end or values[inside] < values[at]):
                lane, place = inside - applied, np.int64(owners[inside] & ~CLOSES)
                data[value_at + bucket * LINE_WORDS + lane] = values[inside]
                shorts[place_at + bucket * 8 + lane] = place
                if owners[inside] < CLOSES:
                    data[line + (place >> 6)] |= one << (place & 63)
                else:
                    opens &= ~(1 << lane)
                inside += 1
            shorts[place_at + bucket * 8 + INSIDE_MAX] = opens


@piece
def put_line(data: Any, at: Any, line: Any) -> None:
    """Store a line; assigning a slice would take a second to compile, for the wording of an error about its length."""
    for word in range(LINE_WORDS):
        data[at + word] = line[word]


@piece
def put_edge(data: Any, block: Any, edges: Any, number: int, value: int, group: int) -> None:
    """Store an edge where it will be looked for: in the block, or in a group that starts in the block."""
    if edges <= PIVOTS:
        data[block + number] = value
    else:
        data[block + PIVOTS + number] = value
        if number % group == 0:
            data[block + number // group] = value


@kernel
def list_members(facet: Any, exact: Any, at: Any, members: Any) -> None:
    """Append each entry to its filter."""
    for i in range(len(facet)):
        if facet[i] >= 0 and not exact[facet[i]]:
            members[at[facet[i]]] = i
            at[facet[i]] += 1


@kernel
def map_codes(members: Any, begin: Any, low: Any, high: Any, maps: Any) -> Any:
    """Map each filter's codes to lines, so that few intervals begin or end inside a line; return the line counts."""
    lines = numbers(len(maps), 0)
    changes = numbers(258, 0)
    for facet in range(len(maps)):
        if begin[facet] == begin[facet + 1]:
            continue
        changes[:] = 0
        for i in range(begin[facet], begin[facet + 1]):
            changes[low[members[i]]] += 1
            changes[np.int64(high[members[i]]) + 1] += 1
        line, inside = 0, 0
        for code in range(256):
            if inside + changes[code] > FILTER_CHANGES_MAX and inside > 0:
                line += 1
                inside = 0
            inside += changes[code]
            maps[facet, code] = line
        lines[facet] = line + 1
    return lines


@kernel
def fill_filters(
    table: Any, members: Any, begin: Any, low: Any, high: Any, place: Any, maps: Any, data: Any, octets: Any
) -> None:
    """Write map and lines of every filter."""
    state = numbers(LINE_WORDS, 0)
    one = np.int64(1)
    for facet in range(len(maps)):
        if begin[facet] == begin[facet + 1]:
            continue
        at = np.int64(table[facet, 2]) * LINE_WORDS
        for code in range(256):
            octets[8 * at + code] = maps[facet, code]
        at += MAP_LINES * LINE_WORDS
        state[:] = -1
        for i in range(begin[facet], begin[facet + 1]):
            row = np.int64(place[members[i]])
            state[row >> 6] &= ~(one << (row & 63))
        for line in range(np.int64(table[facet, 1])):
            put_line(data, at + line * LINE_WORDS, state)
        for i in range(begin[facet], begin[facet + 1]):
            entry = members[i]
            row = np.int64(place[entry])
            word, bit = at + (row >> 6), one << (row & 63)
            for line in range(np.int64(maps[facet, low[entry]]), np.int64(maps[facet, high[entry]]) + 1):
                data[word + line * LINE_WORDS] |= bit
