"""Forgy's k-means: like interests end up in one group, members are whoever wants a value of the group."""

import numpy as np
import pytest

from siftcast.planning.forgy import forgy_groups


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_values_of_like_interest_share_a_group():
    # Two kinds of values, with a stray interest each.
    kinds = np.kron(np.eye(2), np.ones((5, 10))).astype(bool)
    kinds[0, 19], kinds[9, 0] = True, True
    for seed in range(10):
        groups = forgy_groups(kinds, 2, generator(seed))
        if len(set(groups.group_of[:5])) == len(set(groups.group_of[5:])) == 1:
            assert groups.members == ((*range(10), 19), (0, *range(10, 20)))
            break
    else:
        pytest.fail("no start separates two kinds of values that share nothing")


def test_groups_without_values_are_left_out():
    groups = forgy_groups(np.tile([True, False, True], (20, 1)), 5, generator())
    assert groups.group_of.tolist() == [0] * 20
    assert groups.members == ((0, 2),)


def test_more_groups_than_values_give_each_value_its_own():
    interest = np.eye(4, dtype=bool)
    groups = forgy_groups(interest, 50, generator())
    assert groups.group_of.tolist() == [0, 1, 2, 3]
    assert groups.members == ((0,), (1,), (2,), (3,))


def test_every_value_is_nearest_to_the_mean_of_its_own_group():
    interest = generator(3).random((200, 30)) < 0.2
    groups = forgy_groups(interest, 8, generator(4))
    points = interest.astype(float)
    means = np.stack([points[groups.group_of == group].mean(axis=0) for group in range(len(groups))])
    distances = np.linalg.norm(points[:, None] - means, axis=2)
    assert np.allclose(distances[np.arange(200), groups.group_of], distances.min(axis=1))
    for group, members in enumerate(groups.members):
        assert members == tuple(np.flatnonzero(interest[groups.group_of == group].any(axis=0)))


def test_one_seed_gives_one_grouping():
    interest = generator(3).random((100, 30)) < 0.3
    first, again = (forgy_groups(interest, 10, generator(5)) for _ in range(2))
    assert (first.group_of == again.group_of).all()


@pytest.mark.parametrize(
    ("interest", "groups", "words"),
    [(np.zeros((0, 3)), 2, "values by servers"), (np.zeros(3), 2, "values by servers"), (np.eye(3), 0, "at least one")],
)
def test_impossible_groupings_are_refused(interest, groups, words):
    with pytest.raises(ValueError, match=words):
        forgy_groups(interest, groups, generator())
