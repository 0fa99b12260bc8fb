"""What peers of the underlay study know: the triangle of delays, coordinates, published maps, the baseline."""

import numpy as np
import pytest

from siftcast.experiments.underlay.coordinates import predict, relative_errors, with_noise
from siftcast.experiments.underlay.discovery import Discovery, Heuristic, Options, Placing
from siftcast.experiments.underlay.maps import MAPS, MATRIX, VARIABLE, open_ground
from siftcast.experiments.underlay.measure import run
from siftcast.experiments.underlay.quality import cut_share, delay_ratio, measure, nearest_links
from siftcast.experiments.underlay.routes import is_between
from siftcast.experiments.underlay.setup import configurations
from siftcast.experiments.underlay.world import Matrix, World


def on_a_line(*places):
    at = np.array(places, dtype=float)
    return np.abs(at[:, None] - at[None, :])


@pytest.fixture(scope="module")
def world():
    return World.draw("waxman", 60, 1, routers=150)


# -- the triangle of delays ----------------------------------------------------------------------------------


def test_whoever_lies_between_is_before_by_delays():
    delays = on_a_line(0, 4, 9, -5)
    assert is_between(delays, 0, 1, 2, 0.1)
    assert not is_between(delays, 0, 2, 1, 0.1)
    assert not is_between(delays, 0, 3, 2, 0.1)


def test_two_peers_are_never_before_each_other_although_the_bare_triangle_says_so():
    rng = np.random.default_rng(1)
    slack, bare = 0.3, 0
    for _ in range(200):
        delays = with_noise(on_a_line(*rng.uniform(0, 10, 4)), 0.15, rng)
        both = [(1, 2), (2, 1)]
        assert not all(is_between(delays, 0, near, far, slack) for near, far in both)
        bare += all(delays[0, near] + delays[near, far] <= (1 + slack) * delays[0, far] for near, far in both)
    assert bare > 5


def test_a_peer_beside_whoever_is_asked_adopts_nobody_by_delays():
    delays = on_a_line(0, 0.2, 9)
    assert not is_between(delays, 0, 1, 2, 0.1)
    assert delays[0, 1] + delays[1, 2] <= 1.1 * delays[0, 2]


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_the_triangle_places_peers_without_a_single_traceroute(world, noise):
    measured = with_noise(world.delays_ms, noise, np.random.default_rng(2))
    found = {}
    for placing in Placing:
        options = Options(Heuristic.NEAREST, placing=placing)
        overlay = Discovery(world, options, np.random.default_rng(3), measured_ms=measured).build()
        assert (overlay.inferences > 0) == (placing is Placing.ROUTES)
        assert len(overlay.probed) < 60 * 59
        found[placing] = measure(world, overlay.links())
        assert found[placing].cut == 0.0
    assert found[Placing.TRIANGLE].links < found[Placing.NOT].links
    assert found[Placing.TRIANGLE].rdp < 1.1 * found[Placing.ROUTES].rdp


def test_hosts_without_routers_are_placed_by_delays_and_not_by_routes(world):
    hosts = Matrix(world.delays_ms)
    overlay = Discovery(hosts, Options(placing=Placing.TRIANGLE), np.random.default_rng(1)).build()
    rdp, cut = delay_ratio(hosts.delays_ms, overlay.links())
    same = measure(world, overlay.links())
    assert (rdp, cut) == pytest.approx((same.rdp, same.cut))
    with pytest.raises(AssertionError, match="no routes"):
        Discovery(hosts, Options(), np.random.default_rng(1)).build()


def test_what_is_not_placed_is_linked_to_whom_it_asked(world):
    overlay = Discovery(world, Options(placing=Placing.NOT, targets=3), np.random.default_rng(1)).build()
    assert overlay.inferences == 0
    assert all(route == () for near in overlay.near for route in near.values())


# -- coordinates ---------------------------------------------------------------------------------------------


def test_coordinates_tell_the_delays_of_peers_in_a_plane():
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 100, (80, 2))
    delays = np.linalg.norm(places[:, None] - places[None], axis=2) + 2.0
    np.fill_diagonal(delays, 0.0)
    predicted = predict(delays, np.random.default_rng(2))
    assert np.median(relative_errors(predicted, delays)) < 0.1
    assert (predicted == predicted.T).all()
    assert (predicted == predict(delays, np.random.default_rng(2))).all()
    shuffled = delays[np.ix_(rng.permutation(80), rng.permutation(80))]
    assert np.median(relative_errors(shuffled, delays)) > 0.3


def test_noise_is_the_same_both_ways_and_within_its_share():
    delays = on_a_line(*range(30))
    noisy = with_noise(delays, 0.15, np.random.default_rng(1))
    assert (noisy == noisy.T).all()
    errors = relative_errors(noisy, delays)
    assert 0.1 < errors.max() <= 0.15 + 1e-9
    assert (with_noise(delays, 0.0, np.random.default_rng(1)) == delays).all()


# -- the baseline --------------------------------------------------------------------------------------------


def test_the_baseline_links_the_nearest_first_within_a_limit():
    delays = on_a_line(0, 1, 3, 6, 10)
    rng = np.random.default_rng(1)
    free = {link for _ in range(2) for link in nearest_links(delays, 1, rng)}
    assert {(0, 1), (1, 2), (2, 3), (3, 4)} <= free
    limited = nearest_links(delays, 4, np.random.default_rng(1), degree=1)
    drawn = nearest_links(delays, 0, np.random.default_rng(1))
    assert limited - drawn == {(0, 1), (2, 3)} - drawn
    present = nearest_links(delays, 1, rng, present=[0, 2, 4])
    assert {peer for link in present for peer in link} == {0, 2, 4}


def test_pairs_in_different_pieces_are_cut():
    assert cut_share({(0, 1), (2, 3)}, range(4), 4) == pytest.approx(8 / 12)
    assert cut_share({(0, 1), (2, 3)}, [0, 1], 4) == 0.0


# -- published maps ------------------------------------------------------------------------------------------


def test_maps_are_left_out_where_they_are_not_at_hand(monkeypatch, tmp_path):
    def published(quick):
        return {each.get("ground") for each in configurations(quick, None)} & {*MAPS, MATRIX}

    monkeypatch.delenv(VARIABLE, raising=False)
    assert published(False) == set()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert published(False) == set()
    (tmp_path / "data").mkdir()
    assert published(False) == {*MAPS, MATRIX}
    assert published(True) == {MATRIX, "AS 1755", "AS 1239"}


def test_published_maps_hold_peers_on_routers_of_their_own(shared_data, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(shared_data))
    for name in MAPS:
        world = open_ground(name, 50, 1)
        assert isinstance(world, World)
        assert len(set(world.places.tolist())) == 50
        assert world.network.is_connected
    hosts = open_ground(MATRIX, 50, 1)
    assert isinstance(hosts, Matrix)
    assert (hosts.delays_ms == hosts.delays_ms.T).all()
    asked = {"part": "maps", "degree": "NC", "peers": 30, "events": 50, "seed": 1}
    routed, measured = run(asked | {"ground": "AS 1755"}), run(asked | {"ground": MATRIX})
    assert routed["overlays"]["ours"]["discovered"] > 0.5
    assert measured["overlays"].keys() == routed["overlays"].keys()
    assert "stress" not in measured["overlays"]["ours"]
    assert "targets" not in measured
