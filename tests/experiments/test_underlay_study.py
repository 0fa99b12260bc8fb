"""The underlay study: repaired rules do what printed ones do not, and measures are right."""

from collections import Counter
from math import inf

import numpy as np
import pytest

from siftcast.experiments.underlay.changing import ChangingTree, measure_changing
from siftcast.experiments.underlay.core_discovery import Rule, discover
from siftcast.experiments.underlay.discovery import Discovery, Heuristic, Options, Rounding
from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.landmarks import LandmarkTree, chosen_targets, links_discovered, plant
from siftcast.experiments.underlay.quality import measure
from siftcast.experiments.underlay.routes import Merging, beyond, is_before
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE, Ground, crossings
from siftcast.experiments.underlay.world import World
from siftcast.space.core_scores import nearest_votes, path_counts, potentials, select, select_by_votes
from siftcast.underlay.network import Network


def line(*places, routers=6):
    """Routers in a row, a millisecond apart, with peers at some of them."""
    network = Network.of(routers, [(number, number + 1, 1.0) for number in range(routers - 1)])
    return World(network, places, np.full(len(places), 0.1))


def overlay_of(world, **options):
    return Discovery(world, Options(distant=False, **options), np.random.default_rng(1))


def neighbours(overlay):
    return [sorted(each) for each in overlay.near]


@pytest.fixture(scope="module")
def world():
    return World.draw("waxman", 50, 1, routers=150)


@pytest.fixture(scope="module")
def paths(world):
    overlay = Discovery(world, Options(Heuristic.WORST, degree=8), np.random.default_rng(2)).build()
    return Ground(world.delays_ms, overlay.links(), Interests("WL2", 50, 300, 1), 1.0)


# -- routes and places ---------------------------------------------------------------------------------------


def test_whoever_is_passed_on_the_way_is_before():
    assert is_before((1, 2), (1, 2, 3))
    assert is_before((1, 2), (1, 2))
    assert not is_before((1, 2, 3), (1, 2))
    assert not is_before((1, 4), (1, 2, 3))
    assert beyond((1, 2), (1, 2, 3)) == (2, 3)


def test_anonymous_routers_are_one_only_if_all_before_them_is_the_same():
    for merging in (Merging.PREFIX, Merging.NEIGHBOURS):
        assert not is_before((1, -1, 3), (1, -2, 3, 4))
        assert is_before((1, -1, 3), (1, -2, 3, 4), merging)
        assert not is_before((1, -1, 3), (2, -2, 3, 4), merging)


def test_the_anonymous_end_of_a_route_is_on_another_only_by_the_way_to_it():
    assert is_before((1, -1), (1, -2, 4), Merging.PREFIX)
    assert not is_before((1, -1), (1, -2, 4), Merging.NEIGHBOURS)


def test_a_newcomer_goes_below_whoever_lies_before_it():
    overlay = overlay_of(line(0, 2, 4))
    overlay._place(0, 1, overlay.world.route(0, 1))
    overlay._place(0, 2, overlay.world.route(0, 2))
    assert neighbours(overlay) == [[1], [0, 2], [1]]


def fork(*places):
    """A row of three routers with two branches at its end."""
    network = Network.of(5, [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (2, 4, 1.0)])
    return World(network, places, np.full(len(places), 0.1))


@pytest.mark.parametrize(("adopts_all", "left"), [(True, [3]), (False, [2, 3])])
def test_a_newcomer_takes_all_that_lie_beyond_it_and_as_printed_leaves_some_beside(adopts_all, left):
    overlay = overlay_of(fork(0, 3, 4, 2), adopts_all=adopts_all)
    for peer in (1, 2, 3):
        overlay._place(0, peer, overlay.world.route(0, peer))
    assert neighbours(overlay)[0] == left


@pytest.mark.parametrize(("adopts", "near"), [(False, [1, 2, 3]), (True, [3])])
def test_a_peer_at_the_same_router_does_not_become_the_only_neighbour(adopts, near):
    overlay = overlay_of(fork(2, 3, 4, 2), same_router_adopts=adopts)
    for peer in (1, 2, 3):
        overlay._place(0, peer, overlay.world.route(0, peer))
    assert neighbours(overlay)[0] == near


def test_degrees_are_kept_and_links_go_both_ways(world):
    overlay = Discovery(world, Options(Heuristic.WORST, degree=4), np.random.default_rng(1)).build()
    assert max(map(len, overlay.near)) <= 4
    for peer, near in enumerate(overlay.near):
        for other, route in near.items():
            assert overlay.near[other][peer] == route[::-1]
            assert route == world.route(peer, other)


@pytest.mark.parametrize("heuristic", list(Heuristic))
def test_nobody_infers_more_routes_than_it_has_targets_and_one_to_join(world, heuristic):
    overlay = Discovery(world, Options(heuristic, targets=5), np.random.default_rng(1)).build()
    assert 0 < overlay.inferences <= 6 * world.peers
    assert overlay.greedy_peers() == 0
    overlay.inferred[7] += 6
    assert overlay.greedy_peers() == 1
    assert measure(world, overlay.links()).cut == 0.0


def test_targets_of_a_walk_are_dealt_out_without_loss_and_rounded_get_lost_or_too_many(world):
    for rounding, dealt in ((Rounding.EXACT, 3), (Rounding.DOWN, 0), (Rounding.UP, 5)):
        overlay = Discovery(world, Options(targets=3, selectivity=1.0, rounding=rounding), np.random.default_rng(1))
        overlay.near[0] = {other: (0, other) for other in range(1, 6)}
        assert sum(left for _, left in overlay._branches(0, 3)) == dealt


def test_without_distant_links_a_degree_limit_cuts_the_overlay():
    world = World.draw("transit-stub", 80, 3, routers=200)
    cut = {}
    for distant in (False, True):
        options = Options(Heuristic.NEAREST, degree=3, distant=distant)
        cut[distant] = measure(world, Discovery(world, options, np.random.default_rng(3)).build().links()).cut
    assert cut[False] > 0.2
    assert cut[True] == 0.0


def test_peers_that_lose_all_neighbours_join_again(world):
    overlay = Discovery(world, Options(Heuristic.BEST, degree=3), np.random.default_rng(1)).build()
    for peer in range(25):
        overlay.leave(peer)
    assert set(overlay.present) == set(range(25, 50))
    assert not any(overlay.near[peer] for peer in range(25))
    assert all(overlay.near[peer] for peer in range(25, 50))
    assert not any(other < 25 for near in overlay.near for other in near)


def test_landmark_trees_keep_the_rule_and_as_printed_do_not(world):
    assert sum(tree.misplaced() for tree in plant(world, 4, np.random.default_rng(1))) == 0
    trees = plant(world, 4, np.random.default_rng(1), adopts_all=False)
    assert sum(tree.misplaced() for tree in trees) > 0
    for tree in trees:
        below = Counter(child for children in tree.children.values() for child in children)
        assert below == dict.fromkeys(set(range(50)) - {tree.root}, 1)


@pytest.mark.parametrize(("adopts", "children"), [(False, [1, 2, 3]), (True, [3])])
def test_a_peer_at_a_landmarks_own_router_does_not_become_its_only_child(adopts, children):
    tree = LandmarkTree(fork(2, 3, 4, 2), 0, same_router_adopts=adopts)
    for peer in (1, 2, 3):
        tree.join(peer)
    assert tree.children[0] == children


def test_targets_rounded_up_are_found_without_end(world):
    inferred = {}
    for rounding in Rounding:
        options = Options(Heuristic.WORST, targets=5, selectivity=0.5, rounding=rounding)
        overlay = Discovery(world, options, np.random.default_rng(1))
        for peer in range(12):
            overlay.join(peer)
        inferred[rounding] = overlay.inferences / 12
        assert bool(overlay.endless) == (rounding is Rounding.UP)
    assert inferred[Rounding.DOWN] < inferred[Rounding.EXACT] <= 6 < inferred[Rounding.UP]


# -- measures ------------------------------------------------------------------------------------------------


def test_delays_and_stress_of_a_row_are_as_counted_by_hand():
    world = line(0, 2, 4)
    chain = measure(world, {(0, 1), (1, 2)})
    # From end to end 2.2 + 2.2 beside 4.2 ms, and 4 + 4 links beside 6.
    assert chain.rdp == pytest.approx((2.2 + 2.2 + 4.4) / (2.2 + 2.2 + 4.2))
    assert chain.rdp_routers == pytest.approx(1.0)
    assert chain.stress == pytest.approx((4 + 4 + 8) / (4 + 4 + 6))
    assert chain.discovered == 1.0
    part = measure(world, {(0, 1)})
    assert part.cut == pytest.approx(2 / 3)
    assert part.discovered == 0.5


def test_all_pairs_have_the_delays_of_their_routes(world):
    network = world.network
    known = {}
    for tail, head, latency in zip(network.tails, network.heads, network.latencies_ms, strict=True):
        pair = min(tail, head), max(tail, head)
        known[pair] = min(latency, known.get(pair, inf))
    for one, other in ((0, 1), (3, 40), (20, 7)):
        way = sum(known[pair] for pair in world.links_of(one, other))
        ends = world.last_miles_ms[one] + world.last_miles_ms[other]
        assert world.delays_ms[one, other] == pytest.approx(way + ends)
        assert world.hops[one, other] == len(world.links_of(one, other)) + 2
        assert world.route(one, other) == world.route(other, one)[::-1]


def test_what_all_targets_show_is_what_all_routes_cross(world):
    everybody = [[other for other in range(50) if other != peer] for peer in range(50)]
    assert links_discovered(world, everybody) == 1.0
    few = links_discovered(world, chosen_targets(world, "nearest", 2, np.random.default_rng(1)))
    assert 0 < few < 1
    order = chosen_targets(world, "nearest", 3, np.random.default_rng(1))[5]
    assert 5 not in order
    assert world.delays_ms[5, order].max() <= np.sort(world.delays_ms[5])[3]


# -- cores ---------------------------------------------------------------------------------------------------


def test_all_shortest_paths_of_a_row_lead_through_its_middle():
    world = line(0, 1, 2, 3, 4)
    overlay = overlay_of(world)
    for peer in range(4):
        overlay._join_up(peer, peer + 1, world.route(peer, peer + 1))
    ground = Ground(world.delays_ms, overlay.links(), Interests("WL1", 5, 50, 1), 0.0)
    assert path_counts(ground.by_weight).tolist() == [0, 6, 8, 6, 0]
    assert select(ground.scores("SPath", np.random.default_rng(1)), 1) == [2]


def test_votes_go_to_the_nearest_and_get_lost_on_the_way_where_few_candidates_are_kept():
    votes = nearest_votes({0: {1: 1.0, 2: 5.0}, 1: {0: 1.0}, 2: {0: 5.0}}, 3)
    assert votes.tolist() == [2, 1, 0]
    # Peer 9 has two votes in each branch, and others have three in one.
    parents = {branch * 10 + place: branch * 10 if place else 0 for branch in (1, 2) for place in range(6)}
    ballots = {10: 11, 11: 11, 12: 11, 13: 9, 14: 9, 20: 21, 21: 21, 22: 21, 23: 9, 24: 9}
    assert select_by_votes(ballots, parents, 0, 1, 1) == [11]
    assert select_by_votes(ballots, parents, 0, 1, 2) == [9]


def test_seconds_and_milliseconds_rank_alike_only_if_normalised():
    near = {0: {1: 0.2, 2: 9.0}, 1: {0: 0.2}, 2: {0: 9.0, 3: 9.0, 4: 9.0}, 3: {2: 9.0}, 4: {2: 9.0}}
    scaled = {peer: {other: 1_000 * ms for other, ms in each.items()} for peer, each in near.items()}

    def order(weights, normalised):
        return select(potentials(weights, weights, 5, normalised=normalised), 5)

    assert order(near, True) == order(scaled, True)
    assert order(near, False) != order(scaled, False)


def test_algorithm_8_joins_nobody_as_printed_forms_circles_when_read_mildly_and_repaired_finds_shortest_paths(paths):
    cores = select(paths.scores("SPotent", np.random.default_rng(1)), 4)
    truth = paths.core_weights(cores)
    printed, mild, repaired = (discover(paths.near_weights, paths.near_delays, cores, rule) for rule in Rule)
    assert printed.joins == 0
    assert mild.circles() > 0
    assert mild.messages > 2 * repaired.messages
    assert repaired.circles() == 0
    for peer in range(50):
        best = float(truth[:, peer].min())
        assert repaired.weights[repaired.relays[peer]][peer] == pytest.approx(best)


def test_other_cores_hear_of_the_root_core_only_if_its_messages_are_not_dropped(paths):
    cores = select(paths.scores("SPotent", np.random.default_rng(1)), 4)
    for kept, expected in ((None, set(cores[1:])), ((), set())):
        found = discover(paths.near_weights, paths.near_delays, cores, kept=kept)
        assert set(cores[1:]) & set(found.parents[cores[0]]) == expected


@pytest.mark.parametrize("joined", [ONE_TREE, ALL_PAIRS])
@pytest.mark.parametrize("cores", [1, 5])
def test_delays_of_core_ways_are_those_of_their_links(paths, joined, cores):
    ways = paths.core_ways(select(paths.scores("CNeigh", np.random.default_rng(1)), cores), joined)
    shortest = paths.shortest_ways().delays_ms
    for one, other in ((0, 9), (3, 30), (44, 12), (7, 8)):
        links = list(ways.links(one, other))
        assert ways.delays_ms[one, other] == pytest.approx(sum(paths.near_delays[a][b] for a, b in links))
        ends = Counter(peer for link in links for peer in link)
        assert ends[one] % 2 == ends[other] % 2 == 1
    assert (ways.delays_ms >= shortest - 1e-6).all()
    for source in (0, 7, 23):
        targets = [target for target in range(50) if target != source]
        assert ways.shared_links(source, targets) == {link for each in targets for link in ways.links(source, each)}


def test_the_cost_of_a_tree_is_what_its_links_carry(paths):
    ways = paths.spanning_ways()
    carried = 0.0
    interests = paths.interests
    for row, publisher in enumerate(interests.publishers.tolist()):
        for target in np.flatnonzero(interests.matches[row]).tolist():
            if target != publisher:
                carried += sum(paths.near_delays[a][b] for a, b in ways.links(publisher, target))
    assert (ways.delays_ms * interests.demand()).sum() == pytest.approx(carried)
    found = crossings(paths, ways, 300)
    assert 0 < found.deliveries <= found.messages  # each delivery has a last link of its own
    assert found.delays_ms < carried


def test_paths_between_all_cores_are_no_tree(paths):
    cores = select(paths.scores("SPotent", np.random.default_rng(1)), 8)
    used = paths.core_ways(cores, ALL_PAIRS).all_links()
    assert len(used) > 49
    assert used <= paths.links
    assert len(paths.core_ways(cores[:1], ALL_PAIRS).all_links()) == 49


# -- change --------------------------------------------------------------------------------------------------


def test_a_core_tree_stays_a_tree_while_peers_come_and_go():
    world = World.draw("waxman", 60, 2, routers=150)
    overlay = Discovery(world, Options(degree=8), np.random.default_rng(2))
    for peer in range(40):
        overlay.join(peer)
    tree = ChangingTree(overlay, Interests("WL2", 60, 200, 2))
    for step in range(20):
        tree.leave(step)
        tree.join(40 + step)
        tops = 0
        for start in tree.parents:
            seen, at = set(), start
            while at is not None:
                assert at not in seen
                seen.add(at)
                at = tree.parents[at]
            tops += tree.parents[start] is None
        assert tops == 1
    before = tree.messages
    tree.rebuild()
    assert tree.messages > before + 100
    assert tree.cost(0, 200)[2] == 0


def test_a_rebuild_has_a_peak_of_control_messages():
    found = measure_changing("waxman", 40, 0.03, 600, 300, 1)
    others = [count for step, count in enumerate(found["control"]) if step not in (0, 3)]
    assert found["control"][3] > max(others)
    assert found["deliveries"] > 0 == found["lost"]
