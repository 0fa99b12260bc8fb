"""Algorithm 4 as printed fails where the repaired mapping does not: one test for each pitfall."""

import numpy as np
import pytest

from siftcast.experiments.qos.printed_mapping import Reading, encloses, mapping
from siftcast.model import Attribute, Schema
from siftcast.space.dz import DzSpace

SPACE = ((0.0, 100.0), (0.0, 100.0))
EXAMPLE = ((25.0, 50.0), (0.0, 100.0))  # f2 of figure 2.2, which the text maps to {001, 011}


def space_of(values, dimensions):
    return DzSpace.of(
        Schema([Attribute(f"a{index}", "int", (0, values - 1)) for index in range(dimensions)]), elsewhere=False
    )


def drawn(rng, values, dimensions, *, widest):
    """A subscription to whole numbers, as the filter of the repaired mapping and as a closed box of numbers.

    The box reaches from the first value to before the next but one: a side [3, 4] of integers is [3, 5) of numbers.
    """
    lows = rng.integers(0, values, dimensions)
    highs = np.minimum(lows + rng.integers(0, widest, dimensions), values - 1)
    text = " AND ".join(f"a{i} BETWEEN {low} AND {high}" for i, (low, high) in enumerate(zip(lows, highs, strict=True)))
    return text, tuple((float(low), float(high + 1)) for low, high in zip(lows, highs, strict=True))


@pytest.mark.parametrize("theta", [2, 4, 8, 64])
def test_the_printed_algorithm_maps_its_own_example_to_everything(theta):
    assert mapping(EXAMPLE, SPACE, theta) == [""]


@pytest.mark.parametrize("theta", [2, 4, 8, 64])
def test_the_repaired_algorithm_maps_the_example_as_the_text_says(theta):
    space = space_of(100, 2)
    plain = space.of_filter("a0 BETWEEN 25 AND 49", theta, wildcards=False)
    assert str(plain) == "{001, 011}"
    assert plain.exact
    assert str(space.of_filter("a0 BETWEEN 25 AND 49", theta)) == "{0*1}"


def test_the_printed_algorithm_gives_one_expression_too_many_and_the_repaired_one_never():
    rng = np.random.default_rng(1)
    for dimensions, theta in ((1, 2), (2, 4), (3, 8), (5, 16)):
        space, sides = space_of(128, dimensions), ((0.0, 128.0),) * dimensions
        excess = 0
        for _ in range(150):
            text, box = drawn(rng, 128, dimensions, widest=100)
            printed = mapping(box, sides, theta)
            assert len(printed) <= theta + 1
            excess += len(printed) > theta
            for wildcards in (False, True):
                assert len(space.of_filter(text, theta, wildcards=wildcards)) <= theta
        assert excess > 0, (dimensions, theta)


def test_reading_j_as_some_dimension_does_not_enclose_and_the_repaired_algorithm_does():
    rng = np.random.default_rng(2)
    space, sides = space_of(16, 2), ((0.0, 16.0),) * 2
    lost = dict.fromkeys(Reading, 0)
    for _ in range(200):
        text, box = drawn(rng, 16, 2, widest=8)
        inside = [tuple(rng.uniform(low, high) for low, high in box) for _ in range(4)]
        for reading in Reading:
            printed = mapping(box, sides, 4, reading=reading)
            lost[reading] += not all(encloses(printed, point, sides) for point in inside)
        for wildcards in (False, True):
            found = space.of_filter(text, 4, wildcards=wildcards)
            for point in inside:
                assert found.covers(space.of_event({f"a{i}": int(place) for i, place in enumerate(point)}))
    assert lost[Reading.DIVIDED] == 0
    assert lost[Reading.SOME] > 0


def test_the_repaired_algorithm_ends_at_single_cells():
    point = ((37.3, 37.3), (12.1, 12.1))
    assert all(len(dz) == 64 for dz in mapping(point, SPACE, 4))
    found = space_of(100, 2).of_filter("a0 = 37 AND a1 = 12", 4, wildcards=False)
    assert [dz.length for dz in found] == [14]
    assert found.exact
