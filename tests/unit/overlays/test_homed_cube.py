import random

from siftcast.overlays.protocols.homed.cube import (
    UNDIVIDED,
    dividing_run,
    identifier_of,
    identifying_run,
    mask_of,
    side_of,
    subcubes_of,
    vertex_of,
)


def test_a_run_divides_vertices_into_those_without_and_those_with_one_of_its_bits():
    run = 2 << 8 | 4
    assert mask_of(run) == 0b11100
    assert [side_of(vertex, run) for vertex in (0b00011, 0b00100, 0b10000, 0b100000)] == [0, 1, 1, 0]


def test_both_sides_of_a_run_are_lists_of_subcubes_that_hold_each_vertex_once():
    run = 1 << 8 | 3
    cubes = [*subcubes_of(run, 0), *subcubes_of(run, 1)]
    assert len(cubes) == 1 + 3
    for vertex in range(32):
        inside = [cube for cube in cubes if vertex & cube[0] == cube[1]]
        assert len(inside) == 1
        assert (inside[0] in subcubes_of(run, 1)) == bool(side_of(vertex, run))


def test_different_digests_are_always_divided_and_equal_ones_never():
    chance = random.Random(1)
    for _ in range(300):
        one, other = chance.getrandbits(16), chance.getrandbits(16)
        run = dividing_run(one, other, 16, [chance.getrandbits(16) for _ in range(chance.randrange(20))])
        assert (run == UNDIVIDED) == (one == other)
        assert one == other or side_of(one, run) != side_of(other, run)


def test_the_run_that_divides_what_is_known_most_evenly_is_taken():
    known = [0b1000, 0b0100] * 6  # bits 3 and 2 halve them, the others do not occur
    run = dividing_run(0b1010, 0b0100, 4, known)
    assert run in (2 << 8 | 2, 3 << 8 | 3)


def test_few_known_ones_are_divided_by_wide_runs():
    one, other = 1 << 3, 1 << 40
    run = dividing_run(one, other, 64, [])
    assert mask_of(run).bit_count() >= 16


def test_equal_digests_of_different_places_are_divided_by_their_identifiers():
    one, other = vertex_of(5, (1, 1), 8), vertex_of(5, (2, 1), 8)
    assert dividing_run(one, other, 8, []) == UNDIVIDED
    run = identifying_run(one, other, 8)
    assert side_of(one, run) != side_of(other, run)
    assert run & 255 >= 8
    assert identifying_run(one, one, 8) == UNDIVIDED
    assert identifier_of((1, 1)) == identifier_of((1, 1)) != identifier_of((1, 2))
