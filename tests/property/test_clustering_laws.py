"""Laws of matches, similarities, groups, labels and measures, against answers that are correct by being obvious."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.manifold import trustworthiness as trustworthiness_of_distances

from siftcast.planning.clustering import (
    SIMILARITIES,
    accuracy,
    block_similarities,
    build_hierarchy,
    connected_groups,
    entropy,
    false_positives,
    matched_events,
    neighbourhoods,
    rename_clusters,
    rtree_clusters,
    settle_labels,
    similarities,
)
from siftcast.planning.clustering.similarity import pairs_bound

pairs = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 9), st.integers(0, 30)), max_size=80)
seeds = st.integers(0, 2**32 - 1)


def matches_of(found, recent=20, with_positions=True):
    rows, events, positions = (np.array([pair[place] for pair in found], dtype=np.int64) for place in range(3))
    return matched_events(rows, events, positions if with_positions else None, count=12, recent=recent)


def event_sets(matched):
    return [set(matched.events[matched.matrix[row].indices].tolist()) for row in range(len(matched))]


@given(pairs, st.integers(1, 6), st.booleans())
def test_each_subscription_keeps_its_newest_events(found, recent, with_positions):
    expected = []
    for row in range(12):
        newest = {}
        for subscription, event, position in found:
            if subscription == row:
                age = position if with_positions else event
                newest[event] = max(newest.get(event, -1), age)
        ordered = sorted(newest, key=lambda event: (newest[event], event))
        expected.append(set(ordered[-recent:]))
    matched = matches_of(found, recent, with_positions)
    assert event_sets(matched) == expected
    assert matched.own.tolist() == [len(each) for each in expected]


def set_similarity(name, own, other, universe):
    shared, both = len(own & other), len(own | other)
    if not shared:
        return 0.0
    return {
        "jaccard": shared / both,
        "dice": 2 * shared / (len(own) + len(other)),
        "simpson": shared / min(len(own), len(other)),
        "russell": shared / universe,
        "simple_matching": (shared + universe - both) / universe,
    }[name]


def both_ways(left, right, name):
    """Similarities of a block by a sparse product and by a full one, whichever it would choose."""
    for share in (np.inf, -1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("siftcast.planning.clustering.similarity._DENSE_SHARE", share)
            yield sparse.csr_matrix(block_similarities(left, right, name=name)).toarray()


@given(pairs, st.sampled_from(sorted(SIMILARITIES)))
def test_similarities_are_those_of_the_sets(found, name):
    matched = matches_of(found)
    sets = event_sets(matched)
    expected = [[set_similarity(name, own, other, matched.universe) for other in sets] for own in sets]
    computed = similarities(matched, name=name)
    np.testing.assert_allclose(computed.toarray(), expected, rtol=1e-6)
    for block in both_ways(matched, matched, name):
        np.testing.assert_allclose(block, expected, rtol=1e-6)
    assert computed.nnz <= pairs_bound(matched)


@given(pairs, pairs, st.integers(-4, 4), st.sampled_from(sorted(SIMILARITIES)))
def test_similarities_across_two_windows_are_those_of_the_sets(one, another, later, name):
    left = matches_of([(row, event + later, position) for row, event, position in one])
    right = matches_of(another)
    window = set(right.events.tolist())
    expected = [[set_similarity(name, a, b, len(window | a)) for b in event_sets(right)] for a in event_sets(left)]
    for computed in (similarities(left, right, name=name).toarray(), *both_ways(left, right, name)):
        np.testing.assert_allclose(computed, expected, rtol=1e-6)
        assert computed.min(initial=0.0) >= 0.0
        assert computed.max(initial=0.0) <= 1.0


@given(pairs, pairs, st.sampled_from(sorted(SIMILARITIES)))
def test_how_alike_a_newcomer_is_does_not_depend_on_who_comes_with_it(one, another, name):
    alone, right = matches_of(one), matches_of(another)
    crowd = matches_of([*one, *((11, 100 + event, 0) for event in range(20))])
    np.testing.assert_array_equal(
        similarities(alone, right, name=name).toarray()[:11], similarities(crowd, right, name=name).toarray()[:11]
    )


@given(pairs, st.lists(st.integers(0, 4), min_size=12, max_size=12))
def test_equal_rows_get_the_label_most_of_them_have(found, labels):
    matched = matches_of(found)
    sets = event_sets(matched)
    wanted = []
    for events in sets:
        equals = [label for label, other in zip(labels, sets, strict=True) if other == events]
        wanted.append(min(set(equals), key=lambda label: (-equals.count(label), label)))
    settled, used = settle_labels(matched, np.array(labels))
    assert used.tolist() == sorted(set(wanted))
    assert used[settled].tolist() == wanted


def connected_parts(members, sets):
    """Components by trying all pairs."""
    parts = []
    for member in members:
        joined = [part for part in parts if any(sets[member] & sets[other] for other in part)]
        parts = [part for part in parts if part not in joined] + [{member}.union(*joined)]
    return parts


@given(pairs, st.integers(1, 6), seeds)
def test_base_groups_are_connected_or_made_of_whole_components(found, count, seed):
    matched = matches_of(found, recent=3)
    members = np.flatnonzero(matched.matched)
    if not len(members):
        return
    groups = connected_groups(matched, members, count, np.random.default_rng(seed))
    assert sorted(np.concatenate(groups).tolist()) == members.tolist()
    sets = event_sets(matched)
    components = connected_parts(members.tolist(), sets)
    size = -(-len(members) // count)
    for group in groups:
        parts = connected_parts(group.tolist(), sets)
        assert len(parts) == 1 or all(part in components for part in parts)
        assert count == 1 or len(group) <= max(2 * size + size, 3)


@given(st.integers(1, 9), st.integers(2, 4), st.floats(0.05, 1.0), seeds)
def test_landmarks_of_a_level_are_the_members_of_the_next(count, levels, share, seed):
    base = tuple(np.arange(7 * number, 7 * number + 7) for number in range(count))
    hierarchy = build_hierarchy(base, np.random.default_rng(seed), levels=levels, landmarks=share, dimensions=2)
    assert len(hierarchy.levels) == levels
    assert len(hierarchy.levels[-1]) == 1
    for below, above in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
        for group in below:
            assert set(group.landmarks) <= set(group.members)
            assert len(group.landmarks) >= min(3, len(group.members))
            assert group.number in above[group.parent].children
        for group in above:
            landmarks = [landmark for child in group.children for landmark in below[child].landmarks]
            assert sorted(landmarks) == group.members.tolist()


labels_of_eight = st.lists(st.integers(-1, 3), min_size=8, max_size=8)


@given(labels_of_eight, labels_of_eight)
def test_renaming_moves_as_few_as_any_names_could(old, new):
    renamed = rename_clusters(old, new)
    fewest = min(
        sum(a >= 0 and b >= 0 and a != names[b] for a, b in zip(old, new, strict=True))
        for names in permutations(range(4))
    )
    assert renamed.moved == fewest
    together = [[a == b for a in new] for b in new]
    assert [[a == b for a in renamed.labels] for b in renamed.labels] == together


@given(
    st.sets(st.tuples(st.integers(0, 7), st.integers(0, 9))),
    st.lists(st.integers(-1, 4), min_size=8, max_size=8),
    st.sampled_from([0, 2**62, 2**63 - 10, -(2**63)]),
)
def test_false_positives_are_those_of_sending_to_whole_clusters(drawn, labels, first):
    found = {(row, first + event) for row, event in drawn}
    sent = wanted = 0
    for event in range(first, first + 10):
        matching = {row for row, matched in found if matched == event and labels[row] >= 0}
        reached = {labels[row] for row in matching}
        sent += sum(label in reached for label in labels)
        wanted += len(matching)
    ordered = sorted(found)
    rows, events = [row for row, _ in ordered], [event for _, event in ordered]
    counted = false_positives(np.array(rows, dtype=int), np.array(events, dtype=int), labels)
    assert (counted.sent, counted.wanted) == (sent, wanted)


@given(labels_of_eight, labels_of_eight)
def test_entropy_and_accuracy_are_those_of_the_formulas(classes, labels):
    kept = [(a, b) for a, b in zip(classes, labels, strict=True) if a >= 0 and b >= 0]
    kinds = max(len({a for a, _ in kept}), len({b for _, b in kept}))
    disorder = right = 0.0
    for cluster in {b for _, b in kept}:
        members = [a for a, b in kept if b == cluster]
        shares = [members.count(kind) / len(members) for kind in set(members)]
        if kinds > 1:
            disorder -= len(members) / len(kept) * sum(p * np.log(p) for p in shares) / np.log(kinds)
        right += len(members) / len(kept) * max(shares)
    np.testing.assert_allclose(entropy(classes, labels), disorder, atol=1e-12)
    np.testing.assert_allclose(accuracy(classes, labels), right, atol=1e-12)


@given(seeds, st.integers(1, 5))
def test_trustworthiness_without_ties_is_that_of_scikit_learn(seed, neighbours):
    rng = np.random.default_rng(seed)
    truth, points = rng.random((14, 3)), rng.random((14, 2))
    nearness = 1.0 / (1.0 + ((truth[:, None] - truth[None]) ** 2).sum(axis=2))
    expected = trustworthiness_of_distances(truth, points, n_neighbors=neighbours)
    np.testing.assert_allclose(neighbourhoods(nearness, points, neighbours).trustworthiness, expected)


@given(seeds, st.integers(1, 20))
def test_nodes_of_the_rtree_share_out_all_boxes(seed, k):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 5, (20, 2))
    labels = rtree_clusters(low, low + rng.integers(0, 4, (20, 2)), k)
    assert sorted(set(labels.tolist())) == list(range(k))
