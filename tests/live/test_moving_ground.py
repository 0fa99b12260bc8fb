"""When a network is planned again by itself: not for noise, once for a link that moved, and never twice in a hurry."""

import msgspec
import numpy as np
import pytest

from siftcast import Schema
from siftcast.overlays.epochs.view import ABSENT, LEAVING, Epoch, Member, View, first_view
from siftcast.overlays.epochs.wants import Wants
from siftcast.runtimes.live.local_network import SCHEMA
from siftcast.runtimes.live.node.measured import Measured
from siftcast.runtimes.live.node.moving_ground import CALM, STILL, Look, MovingGround
from siftcast.runtimes.live.node.planning import (
    MEASURED,
    PlanCosts,
    PlanSettings,
    Reckoning,
    remarks_on_ground,
    survey_of,
)
from siftcast.schemes import Ground, scheme
from siftcast.space import Tree

COLLECT_MS = 1_000.0


def look(**changes) -> Look:
    facts = {"epoch": 2, "before_ms": 100.0, "after_ms": 100.0, "pairs": 10} | changes
    return Look(**facts)


class Following:
    """A network that follows its ground, as far as judging and planning go."""

    def __init__(self, latencies_ms: np.ndarray, name: str = "filter-based", **options: object) -> None:
        self.scheme = scheme(name)
        self.options = self.scheme.configure(options)
        self.plan = self.scheme.plan(self.ground(latencies_ms), self.options)
        self.plans = 0
        self._judge = MovingGround()
        self._now_ms = 0.0
        self.collect(latencies_ms, CALM)

    def ground(self, latencies_ms: np.ndarray) -> Ground:
        return Ground(latencies_ms, np.random.default_rng(0), schema=Schema.parse(SCHEMA))

    def collect(self, latencies_ms: np.ndarray, times: int = 1) -> None:
        ground = self.ground(latencies_ms)
        for _ in range(times):
            self._now_ms += COLLECT_MS
            other = self.scheme.plan(ground, self.options)
            costs = self.scheme.cost(self.plan, ground), self.scheme.cost(other, ground)
            found = look(epoch=self.plans + 1, before_ms=costs[0], after_ms=costs[1])
            if self._judge.is_worth_a_plan(found, self._now_ms, COLLECT_MS):
                self.plan, self.plans = other, self.plans + 1


def plane(count: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).random((count, 2)) * 100
    return np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))


def noisy(latencies_ms: np.ndarray, random: np.random.Generator) -> np.ndarray:
    factors = np.triu(random.uniform(0.85, 1.15, latencies_ms.shape), 1)
    return latencies_ms * (factors + factors.T)


SCHEMES = [("filter-based", {}), ("filter-based", {"tree": "core", "near": 2}), ("kyra", {"clique_ms_max": 40.0})]


@pytest.mark.parametrize(("name", "options"), SCHEMES)
@pytest.mark.parametrize("seed", range(3))
def test_noise_never_has_a_network_planned_again_twice(name, options, seed):
    random, latencies = np.random.default_rng(seed), plane(15, seed)
    network = Following(noisy(latencies, random), name, **options)
    for _ in range(60):
        network.collect(noisy(latencies, random))
    assert network.plans <= 1


@pytest.mark.parametrize(("name", "options"), SCHEMES)
def test_a_node_that_moved_has_the_network_planned_again_once(name, options):
    random, latencies = np.random.default_rng(7), plane(10, 3)
    network = Following(latencies, name, **options)
    far = int(np.argmax(latencies[0]))
    moved = latencies.copy()
    moved[0], moved[:, 0] = latencies[far] + 1, latencies[far] + 1  # node 0 is beside the one it was farthest from
    moved[0, 0], moved[0, far], moved[far, 0] = 0.0, 1.0, 1.0
    for _ in range(30):
        network.collect(noisy(moved, random))
    assert network.plans == 1


def test_a_gain_counts_if_it_is_enough_and_there_twice_in_a_row():
    judge = MovingGround()
    assert not judge.is_worth_a_plan(look(), 0.0, COLLECT_MS)
    later = CALM * COLLECT_MS
    assert not judge.is_worth_a_plan(look(after_ms=79.0), later, COLLECT_MS)
    assert not judge.is_worth_a_plan(look(after_ms=81.0), later + 1, COLLECT_MS)
    assert not judge.is_worth_a_plan(look(after_ms=79.0), later + 2, COLLECT_MS)
    assert judge.is_worth_a_plan(look(after_ms=79.0), later + 3, COLLECT_MS)
    tiny = look(before_ms=0.9, after_ms=0.1)  # on one machine all are near, and shares mean nothing
    assert not any(judge.is_worth_a_plan(tiny, later + number, COLLECT_MS) for number in range(9))


def test_a_new_plan_stays_for_a_while_whoever_made_it():
    judge = MovingGround()
    gains = [judge.is_worth_a_plan(look(epoch=4, after_ms=10.0), COLLECT_MS * turn, COLLECT_MS) for turn in range(9)]
    assert gains == [False] * CALM + [True] * (9 - CALM)
    assert not judge.is_worth_a_plan(look(epoch=5, after_ms=10.0), 9 * COLLECT_MS, COLLECT_MS)


def test_the_first_plan_waits_until_all_is_known_or_nothing_more_comes():
    judge = MovingGround()
    guessed = {"is_first": True, "is_guessed": True, "is_complete": False}
    assert not judge.is_worth_a_plan(look(pairs=3, **guessed), 0.0, COLLECT_MS)
    assert not judge.is_worth_a_plan(look(pairs=4, **guessed), 1.0, COLLECT_MS)
    still = [judge.is_worth_a_plan(look(pairs=5, **guessed), 2.0 + turn, COLLECT_MS) for turn in range(STILL)]
    assert still == [False] * (STILL - 1) + [True]
    assert MovingGround().is_worth_a_plan(look(**(guessed | {"is_complete": True})), 0.0, COLLECT_MS)
    newcomers = look(is_guessed=True)
    assert not judge.is_worth_a_plan(newcomers, 10.0, COLLECT_MS)
    assert judge.is_worth_a_plan(newcomers, 10.0 + CALM * COLLECT_MS, COLLECT_MS)


def test_what_a_node_has_said_stays_while_it_is_silent_and_goes_with_it():
    before = Measured([(1, 2, 5.0), (1, 3, 7.0), (2, 3, 9.0)], {"value": [0.5, 0.5]})
    said = [{"identity": 1, "delays_ms": [(2, 6.0)]}, {"identity": 2, "delays_ms": [(1, 8.0)]}]
    after = before.updated(said)
    assert after == Measured([(1, 2, 7.0), (1, 3, 7.0), (2, 3, 9.0)], {"value": [0.5, 0.5]})
    assert after.updated(said, gone={3}).nodes == {1, 2}


def epoch_of(settings: PlanSettings, count: int = 4) -> Epoch:
    return Epoch(2, tuple(range(1, count + 1)), ("",) * count, (), settings.encode())


def test_both_plans_are_held_against_the_delays_that_were_measured_last():
    line = Measured([(1, 2, 10.0), (2, 3, 10.0), (1, 3, 20.0)])
    bent = Measured([(1, 2, 10.0), (2, 3, 90.0), (1, 3, 20.0)])
    costs = PlanCosts(scheme("filter-based"), None)
    assert costs.compare(epoch_of(PlanSettings(measured=line), 3), PlanSettings(measured=bent)) == (
        pytest.approx((10 + 90 + 100) / 3),
        pytest.approx((10 + 20 + 30) / 3),
    )
    assert PlanCosts(scheme("unicast"), None).compare(
        epoch_of(PlanSettings(measured=line), 3), PlanSettings(measured=bent)
    ) == (None, None)


def test_links_that_people_wrote_down_go_before_measured_ground():
    settings = PlanSettings(links=[(1, 2), (2, 3), (3, 4)], ground=MEASURED)
    for name, options, words in (
        ("filter-based", {}, "events go by the links that are written down"),
        ("unicast", {}, "do not depend on delays"),
        ("filter-based", {"graph": 1}, ""),  # what is around the tree follows the ground
        ("kyra", {}, ""),
    ):
        chosen = scheme(name)
        schema = Schema.parse(SCHEMA) if chosen.needs_schema else None
        ground, _ = survey_of(chosen, schema)(epoch_of(settings))
        plan = chosen.plan(ground, chosen.configure(options))
        (said,) = remarks_on_ground(chosen, True, ground, plan) or ("",)
        assert words in said
        assert bool(words) == bool(said)
        assert remarks_on_ground(chosen, False, ground, plan) == ()


def test_layered_schemes_count_where_their_delivery_does():
    ground = Ground(plane(6, 1), np.random.default_rng(0))
    for delivery, counts in (("tree", True), ("cliques", True), ("direct", False), ("ring", False)):
        chosen = scheme("layered")
        plan = chosen.plan(ground, chosen.configure({"matching": "publisher", "delivery": delivery}))
        assert (chosen.cost(plan, ground) is not None) == counts
    written = Ground(plane(3, 1), np.random.default_rng(0), tree=Tree(range(3), [(0, 1), (1, 2)]))
    plan = chosen.plan(written, chosen.configure({"delivery": "tree"}))
    assert chosen.cost(plan, written) is None


def test_settings_of_a_network_that_follows_nothing_are_what_they_were():
    assert b"ground" not in PlanSettings({"trees": 2}).encode()
    settings = PlanSettings(ground=MEASURED, ground_ms=5.0, reckoning=Reckoning(1.0, 9.0, 3.0))
    assert PlanSettings.decode(settings.encode()) == settings


def test_delays_travel_in_four_bytes_a_pair_and_unknown_ones_stay_unknown():
    nodes = [2**62 + number for number in range(40)]
    pairs = [(a, b, round(0.123 + (a * b) % 977, 3)) for a in nodes for b in nodes if a < b and (a + b) % 5]
    settings = PlanSettings(measured=Measured(pairs, {"value": [0.25, 0.75]}))
    assert PlanSettings.decode(settings.encode()) == settings
    assert PlanSettings.decode(settings.encode()).encode() == settings.encode()
    assert len(settings.encode()) < 4 * 780 + 9 * 40 + 200
    assert b"table" not in PlanSettings().encode()


# -- who wants what ----------------------------------------------------------------------------------


def view_of(number: int, settings: bytes = b"") -> View:
    members = tuple(Member(node, f"n{node}") for node in (1, 2, 3))
    view = first_view(members, 1)
    return msgspec.structs.replace(view, epochs=(Epoch(number, (1, 2, 3), ("",) * 3, (), settings),), used=number)


def test_what_nobody_asked_for_gives_way_to_what_persons_want():
    wants = Wants()
    wants.apply(b"person", view_of(3))
    wants.apply(b"ground", view_of(3), 3)
    assert wants.applied == b"person"
    wants = Wants()
    wants.apply(b"ground", view_of(4), 3)  # the plan has changed since it was measured
    assert not wants
    wants.apply(b"ground", view_of(4), 4)
    wants.apply(b"person", view_of(4))
    wants.drop_fulfilled(view_of(5, b"other"), 1)
    assert wants.applied == b"person"


def test_what_nobody_asked_for_is_dropped_once_the_network_is_planned_otherwise():
    wants = Wants()
    wants.apply(b"ground", view_of(4), 4)
    wants.drop_fulfilled(view_of(4), 1)
    assert wants.applied == b"ground"
    wants.drop_fulfilled(view_of(5, b"person"), 1)
    assert not wants


def test_a_network_is_calm_while_all_who_have_a_place_are_present():
    view = view_of(3)
    assert view.is_calm
    for state in (ABSENT, LEAVING):
        changed = msgspec.structs.replace(view, members=(*view.members[:2], view.members[2].as_(state)))
        assert not changed.is_calm
    assert not msgspec.structs.replace(view, epochs=(*view.epochs, Epoch(4, (1, 2, 3)))).is_calm
