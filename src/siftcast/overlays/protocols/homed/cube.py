"""Vertices of the cube, and how two places divide the part of it that one of them held.

A vertex is the digest of a place, and above it 64 bits of an identifier that no two places share (the paper's second
way with equal digests, section 3.1). Bits count from the lowest: those of the digest first.

A place that is joined by another gives away a part of its cover. In the paper that is half a subcube, divided by the
first bit in which the two differ. Digests of narrow interests have few ones; cut off one by one they make a path of N
splits. So covers are lists of subcubes: a *run* of bits divides them, those without any bit of it from the others.
Which run is chosen decides how even the cube is cut: the one that divides best the digests which are known nearby.

    run of one bit     1 ** │ 0 **              two subcubes, as in the paper
    run of two bits    1* *, 01 * │ 00 *        a list of two subcubes, and one
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from siftcast.overlays.contract import NodeId

Place = tuple[NodeId, int]
"""A position of a node: a node may have several, and a new one has a new number."""
Run = int
"""Bits from the first to the last, as first · 256 + last; -1 divides places that nothing tells apart."""
IDENTIFIER_BITS = 64
UNDIVIDED: Run = -1
_KNOWN_MAX = 16


def identifier_of(place: Place) -> int:
    """The identifier bits of a place."""
    return int.from_bytes(blake2b(f"{place[0]}/{place[1]}".encode(), digest_size=8).digest(), "big")


def vertex_of(digest: int, place: Place, bits: int) -> int:
    """Where a place lies if its digest has so many bits."""
    return digest | identifier_of(place) << bits


def mask_of(run: Run) -> int:
    """The bits of a run."""
    return (2 << (run & 255)) - (1 << (run >> 8)) if run >= 0 else 0


def side_of(vertex: int, run: Run) -> int:
    """On which side of a run a vertex lies: 1 if it has any of its bits."""
    return 1 if vertex & mask_of(run) else 0


def dividing_run(one: int, other: int, bits: int, known: Sequence[int]) -> Run:
    """The run of digest bits that divides two vertices and, as evenly as possible, the digests known nearby.

    Runs of 1, 2, 4, … bits are tried. As long as few digests are known, ones are taken to be as frequent everywhere as
    in the two. `UNDIVIDED`, if the digests are equal.
    """
    space = (1 << bits) - 1
    digests = [one & space, other & space]
    if digests[0] == digests[1]:
        return UNDIVIDED
    sample = [*digests, *known[-_KNOWN_MAX:]]
    zeros = 1 - sum(digest.bit_count() for digest in sample) / (bits * len(sample))
    best, best_off = UNDIVIDED, 2.0
    width = 1
    while width <= max(1, bits // 2):
        expected = 1 - zeros**width
        for first in range(0, bits - width + 1, width):
            mask = ((1 << width) - 1) << first
            if (digests[0] & mask == 0) == (digests[1] & mask == 0):
                continue
            ones = sum(1 for digest in sample if digest & mask)
            off = abs((ones + 2 * expected) / (len(sample) + 2) - 0.5)
            if off < best_off:
                best, best_off = first << 8 | (first + width - 1), off
        width *= 2
    return best


def identifying_run(one: int, other: int, bits: int) -> Run:
    """The first identifier bit in which two vertices differ."""
    differing = (one ^ other) >> bits
    if not differing:
        return UNDIVIDED
    place = bits + (differing & -differing).bit_length() - 1
    return place << 8 | place


def subcubes_of(run: Run, side: int) -> list[tuple[int, int]]:
    """One side of a run as subcubes, each a mask of fixed bits and their values."""
    first, last = run >> 8, run & 255
    if side == 0:
        return [(mask_of(run), 0)]
    return [((2 << place) - (1 << first), 1 << place) for place in range(first, last + 1)]
