"""Laws of who lies before whom, by routes and by delays; and the order in which peers join a landmark tree."""

from itertools import pairwise
from math import hypot

from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.discovery import routes, triangle

ways = st.lists(st.sampled_from(["a", "b", None]), max_size=5).map(tuple)
points = st.tuples(st.floats(-100, 100), st.floats(-100, 100))


@given(ways, ways, ways)
def test_before_is_a_partial_order_on_routes(one, other, third):
    is_named = not one or one[-1] is not None
    assert routes.is_before(one, one) == is_named  # whose own router has no name is before nobody
    if routes.is_before(one, other):
        if routes.is_before(other, one):
            assert one == other
        if routes.is_before(other, third):
            assert routes.is_before(one, third)


@given(ways, ways)
def test_the_rest_of_a_route_begins_at_the_router_of_the_one_before_and_joins_to_the_whole(near, more):
    far = near + more
    rest = routes.beyond(near, far)
    assert near[:-1] + rest == far
    assert rest[:1] == near[-1:] or not near


@given(ways, ways, ways)
def test_who_is_before_another_seen_from_one_before_both_is_so_from_there(near, middle, more):
    """What allows that a newcomer is handed on with the rest of its route."""
    if near:
        other = near + middle
        far = other + more
        seen = routes.is_before(routes.beyond(near, other), routes.beyond(near, far))
        assert seen == routes.is_before(other, far) == (other[-1] is not None)


@given(ways)
def test_the_way_back_of_the_way_back_is_the_way(route):
    assert routes.reverse(routes.reverse(route)) == route


@given(points, points, points, st.floats(0, 0.5))
def test_by_delays_no_two_peers_are_before_each_other_unless_they_are_neighbours(one, other, start, slack):
    """Where delays are distances: both pass only if what lies between them is within the slack."""

    def far(a, b):
        return hypot(a[0] - b[0], a[1] - b[1])

    to_one, to_other, between = far(start, one), far(start, other), far(one, other)
    if triangle.is_before(to_one, between, to_other, slack):
        assert not triangle.is_before(to_other, between, to_one, slack)
        assert to_one + between <= (1 + slack) * to_other + 1e-9


@given(st.lists(st.floats(0.001, 1e6), min_size=2, max_size=50))
def test_steps_that_bring_nearer_come_to_an_end(delays):
    """However peers measure, the remaining delay of a newcomer falls with each step."""
    steps = [delays[0]]
    for delay_ms in delays[1:]:
        if triangle.is_nearer(delay_ms, steps[-1]):
            steps.append(delay_ms)
    assert all(after < before for before, after in pairwise(steps))
