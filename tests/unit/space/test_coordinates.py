"""Network coordinates come to predict delays that they were told."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siftcast.space.coordinates import Coordinate

_FINITE = st.floats(-1e6, 1e6)
_COORDINATES = st.builds(Coordinate, _FINITE, _FINITE, st.floats(1e-3, 1e6), st.floats(0.0, 1.0))


def test_coordinates_predict_delays_between_nodes_that_never_measured_each_other() -> None:
    random = Random(3)
    rng = np.random.default_rng(3)
    places, last_miles = rng.uniform(0, 100, (40, 2)), rng.uniform(1, 10, 40)
    delays = np.hypot(*(places[:, None] - places[None, :]).transpose(2, 0, 1)) + last_miles[:, None] + last_miles
    known = [Coordinate() for _ in places]
    partners = [random.sample([other for other in range(40) if other != node], 8) for node in range(40)]
    for _ in range(300):
        for node, others in enumerate(partners):
            other = random.choice(others)
            known[node] = known[node].moved(known[other], float(delays[node, other]), random)
    errors = [
        abs(known[node].delay_ms(known[other]) - delays[node, other]) / delays[node, other]
        for node in range(40)
        for other in range(node)
        if other not in partners[node] and node not in partners[other]
    ]
    assert np.median(errors) < 0.15
    assert np.mean([each.error for each in known]) < 0.25


@given(_COORDINATES, _COORDINATES, st.floats(0.0, 1e6), st.integers(0, 9))
def test_a_sound_coordinate_stays_sound(one: Coordinate, other: Coordinate, delay_ms: float, seed: int) -> None:
    assert one.moved(other, delay_ms, Random(seed)).is_sound


@given(_COORDINATES, _COORDINATES)
def test_the_predicted_delay_is_the_same_both_ways(one: Coordinate, other: Coordinate) -> None:
    assert one.delay_ms(other) == other.delay_ms(one)


def test_what_is_no_place_is_not_sound() -> None:
    assert not Coordinate(x_ms=float("nan")).is_sound
    assert not Coordinate(height_ms=0.0).is_sound
    assert not Coordinate(error=2.0).is_sound
