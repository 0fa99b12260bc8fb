"""SubscriptionClusters refuses parameters and data that make no sense, and says which."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from siftcast.model import ClusteringError
from siftcast.planning.clustering import SubscriptionClusters
from tests.unit.planning.test_clustering_estimator import SHAPES


@pytest.mark.parametrize("k", [0, -1, 11])
def test_more_clusters_than_subscriptions_are_refused(k):
    with pytest.raises(ClusteringError, match=f"10 subscriptions cannot form {k} clusters"):
        SubscriptionClusters(k).fit(np.eye(10))


@pytest.mark.parametrize("k", ["3", 2.5, None, True, np.nan, [2]])
def test_a_number_of_clusters_that_is_none_is_refused(k):
    with pytest.raises(ClusteringError, match="k must be a whole number"):
        SubscriptionClusters(k).fit(np.eye(10))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"method": "magic"}, "no method 'magic'; there are rassoc, ncut"),
        ({"method": ["rassoc"]}, "no method"),
        ({"similarity": "cosine"}, "no similarity 'cosine'"),
        ({"similarity": ["jaccard"]}, "no similarity"),
        ({"kmeans": "magic"}, "no k-means 'magic'; there are central, sampling, hierarchical, hp2pc"),
        ({"kmeans": ["central"]}, "no k-means"),
        ({"levels": 1, "groups": 3}, "one level is one group"),
        ({"levels": 0}, "levels must be a whole number of at least 1, not 0"),
        ({"levels": 2.5}, "levels must be"),
        ({"groups": 0}, "groups must be"),
        ({"groups": -1}, "groups must be"),
        ({"groups": "4"}, "groups must be"),
        ({"landmarks": 0.0}, "landmarks are a share"),
        ({"landmarks": 1.5}, "landmarks are a share"),
        ({"landmarks": np.nan}, "landmarks are a share"),
        ({"landmarks": 0}, "landmarks are a share"),
        ({"landmarks": "0.5"}, "landmarks are a share"),
        ({"landmarks": True}, "landmarks are a share"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": "wide"}, "sigma"),
        ({"dimensions": 0}, "dimensions must be"),
        ({"dimensions": -1}, "dimensions must be"),
        ({"dimensions": 2.0}, "dimensions must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": None}, "seed must be"),
        ({"seed": 0.5}, "seed must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, problem):
    with pytest.raises(ClusteringError, match=problem):
        SubscriptionClusters(2, **parameters).fit(np.ones((10, 3)))


def test_whole_numbers_may_be_those_of_numpy():
    matrix = np.repeat(np.eye(4), 10, axis=0)
    whole = {"levels": 2, "groups": 4, "landmarks": 5, "dimensions": 4, "seed": 3}
    alike = SubscriptionClusters(np.int64(4), **{name: np.int32(value) for name, value in whole.items()}).fit(matrix)
    plain = SubscriptionClusters(4, **whole).fit(matrix)
    assert (alike.labels_ == plain.labels_).all()
    assert [len(group.landmarks) for group in alike.hierarchy_.base] == [
        len(group.landmarks) for group in plain.hierarchy_.base
    ]


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ([1, 0, 1], "a matrix of subscriptions by events"),
        ([[1, 0], [1]], "a matrix of subscriptions by events"),
        ([["yes", "no"]], "a matrix of subscriptions by events"),
        (None, "a matrix of subscriptions by events"),
        ([[1.0, np.nan]], "NaN"),
        (sparse.csr_matrix([[0.0, np.inf]]), "infinite"),
        (np.zeros((0, 3)), "0 subscriptions"),
    ],
)
def test_data_that_are_no_matches_are_refused(matrix, problem):
    with pytest.raises(ClusteringError, match=problem):
        SubscriptionClusters(1).fit(matrix)


def test_nothing_is_placed_or_updated_before_there_are_clusters():
    for ask in (SubscriptionClusters(2).predict, SubscriptionClusters(2).update):
        with pytest.raises(NotFittedError, match="fit"):
            ask(np.eye(4))
        with pytest.raises(ClusteringError, match="fit"):
            ask(np.eye(4))


def test_newcomers_have_the_columns_that_clusters_were_made_from():
    found = SubscriptionClusters(2).fit(np.eye(4))
    with pytest.raises(ClusteringError, match="4 columns of events, and these are 5"):
        found.predict(np.ones((2, 5)))
    found.update(np.eye(4, 6), threshold=1e9)
    assert (found.predict(np.eye(4, 6)) == found.labels_).all()


@pytest.mark.parametrize("groups", [[0], [0] * 9, [0] * 7 + [4], [0] * 7 + [-1], [0.5] * 8, [[0] * 8]])
def test_every_newcomer_needs_a_group_that_there_is(groups):
    matrix = np.repeat(np.eye(4), 2, axis=0)
    found = SubscriptionClusters(2, **SHAPES["two levels"]).fit(matrix)
    with pytest.raises(ClusteringError, match="groups must be a number from 0"):
        found.predict(matrix, groups)
