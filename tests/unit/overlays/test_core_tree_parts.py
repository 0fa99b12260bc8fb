"""The parts of a core tree: ways without circles, votes, weights, tables over links that come and go, and the wire."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.experiments.underlay.core_discovery import Rule, discover
from siftcast.model import Event, Filter
from siftcast.overlays.changing_router import ChangingRouter
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.protocols.core_tree import CoreTree, CoreTreeSettings
from siftcast.overlays.protocols.core_tree.messages import (
    Ballot,
    Beat,
    Choice,
    CoreParcel,
    Passed,
    Reach,
    Seek,
    TreeNews,
    Unlink,
)
from siftcast.overlays.protocols.core_tree.votes import Standing, Votes
from siftcast.overlays.protocols.core_tree.way import Way
from siftcast.overlays.protocols.core_tree.weights import LinkWeights, Sketch, similarity
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.schemes import SchemeError, scheme
from siftcast.schemes.ground import Ground
from siftcast.space.core_scores import best, potentials, select
from tests.simulation.core_network import CoreNetwork, near_graph, waxman

NODE = 2**63 - 1
REACH = Reach(NODE, 7, 1.5, 3)
CHOICE = Choice(NODE, 2, (NODE, 1), 3.5, 4.5)
WANTED = Filter.parse("a < 3")
MESSAGES = [
    Beat(9, REACH, CHOICE, 1, (REACH, REACH), ((0, 5), (1, 6)), b"\x00\x01"),
    Beat(9, REACH, CHOICE, None, ()),
    Ballot(3, 4, ((NODE, 2.5),), (NODE,), 6, 1.5, 2.5, ((1, NODE, 0.5),)),
    Seek(NODE, 8),
    TreeNews(0, 5, NODE, True, False, Announce((("s", WANTED, NODE),), 0, anew=True)),
    TreeNews(1, 5, NODE, False, True, Retract(("s",), 1)),
    Unlink(1, 5),
    Passed(0, Event({"a": 1}, id="x"), 3.5, True),
    CoreParcel((1, NODE), Event({"a": 1}, id="x"), 3.5, 9),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_peers_say_survives_the_wire(message):
    codec = MessageCodec(CoreTree.messages)
    assert codec.decode(codec.encode(message)) == message


@pytest.mark.parametrize(
    "changes",
    [
        {"cores": 0},
        {"strategy": "Rand"},
        {"joined": "somehow"},
        {"beta": -1.0},
        {"beat_ms": 0.0},
        {"rebuild_ms": 100.0},
        {"ground": "nobody"},
        {"neighbours": 1},
        {"targets": 0},
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(changes):
    with pytest.raises(SchemeError):
        scheme("core-tree").configure(changes)


# -- ways ------------------------------------------------------------------------------------------------------


class Careless(Way):
    """Takes whatever is shortest."""

    __slots__ = ()

    def _is_feasible(self, word):
        return True


class Ways:
    """Peers 1 … on a graph with ways to peer 0; words travel one at a time, in any order of the links."""

    def __init__(self, kind, seed, peers=10):
        self.random = drawn = random.Random(seed)
        self.links = {(one, drawn.randrange(one)): 0.0 for one in range(1, peers)}
        self.links |= {tuple(sorted(drawn.sample(range(peers), 2), reverse=True)): 0.0 for _ in range(peers)}
        self.links = {link: drawn.uniform(1, 10) for link in self.links}
        self.ways = {peer: kind(peer, 0) for peer in range(1, peers)}
        self.round = 0
        self.now = 0.0
        self.under_way = {}

    def near(self, peer):
        return {
            one if other == peer else other: weight
            for (one, other), weight in self.links.items()
            if peer in (one, other)
        }

    def say(self, peer):
        if peer == 0:
            word = Reach(0, self.round, 0.0, 0)
        else:
            word = self.ways[peer].reach if self.ways[peer].is_known else None
        for other in self.near(peer):
            self.under_way.setdefault((peer, other), []).append(word)

    def step(self):
        peer, other = self.random.choice(sorted(self.under_way))
        words = self.under_way[peer, other]
        word = words.pop(0)
        if not words:
            del self.under_way[peer, other]
        if other and other in self.near(peer):
            way = self.ways[other]
            way.forget(peer) if word is None else way.hear(peer, word, self.now)
            self.choose(other)

    def choose(self, peer):
        way = self.ways[peer]
        before = way.parent, way.weight, way.round
        way.choose(self.near(peer), self.now - 100.0)
        if before != (way.parent, way.weight, way.round):
            self.say(peer)

    def disturb(self):
        """A link comes, goes, or becomes longer or shorter; or peer 0 begins a round."""
        self.now += 1.0
        match self.random.randrange(4):
            case 0:
                self.round += 1
                self.say(0)
            case 1 if len(self.links) > 12:
                one, other = link = self.random.choice(sorted(self.links))
                del self.links[link]
                for peer, gone in ((one, other), (other, one)):
                    if peer:
                        self.ways[peer].forget(gone)
                        self.choose(peer)
            case _:
                link = self.random.choice(sorted(self.links))
                self.links[link] = self.random.uniform(1, 50)
                for peer in link:
                    if peer:
                        self.choose(peer)

    def circles(self):
        for start in self.ways:
            at, steps = start, 0
            while at and steps <= len(self.ways):
                at, steps = self.ways[at].parent, steps + 1
            if steps > len(self.ways):
                return True
        return False

    def run(self):
        """How often there was a circle while it was disturbed, and after that the words died down."""
        count = 0
        self.say(0)
        for _ in range(400):
            if self.under_way and self.random.random() < 0.8:
                self.step()
            else:
                self.disturb()
            count += self.circles()
        return count

    def rest(self):
        for _ in range(len(self.ways) + 1):
            self.round += 1
            self.say(0)
            while self.under_way:
                self.step()
        return self


@pytest.mark.parametrize("seed", range(8))
def test_ways_form_no_circle_at_any_time_and_are_the_shortest_at_rest(seed):
    ways = Ways(Way, seed)
    assert ways.run() == 0
    ways.rest()
    far = {0: 0.0}
    for _ in ways.ways:
        for (one, other), weight in ways.links.items():
            for a, b in ((one, other), (other, one)):
                if a in far:
                    far[b] = min(far.get(b, float("inf")), far[a] + weight)
    assert {peer: way.weight for peer, way in ways.ways.items() if way.is_known} == pytest.approx(
        {peer: weight for peer, weight in far.items() if peer}
    )


def test_who_takes_whatever_is_shortest_goes_in_circles():
    assert sum(Ways(Careless, seed).run() for seed in range(8)) > 0


def test_a_target_that_begins_no_round_any_more_is_given_up():
    way = Way(1, 0)
    way.hear(2, Reach(0, 5, 1.0, 0), now=0.0)
    way.choose({2: 1.0}, alive_ms=-10.0)
    assert (way.parent, way.weight) == (2, 2.0)
    way.hear(2, Reach(0, 5, 1.0, 0), now=90.0)
    way.choose({2: 1.0}, alive_ms=10.0)
    assert way.parent is None
    way.hear(2, Reach(0, 6, 1.0, 0), now=95.0)
    way.choose({2: 1.0}, alive_ms=10.0)
    assert way.parent == 2


# -- Algorithm 8 -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network():
    delays = waxman(24, 2)
    return CoreNetwork(24, 2, delays=delays, graph=near_graph(delays, 24), cores=4).settle()


@pytest.fixture(scope="module")
def near(network):
    return {
        peer: {other: network.delays.latency_ms(peer, other) for other in others}
        for peer, others in network.graph.items()
    }


def test_as_printed_nobody_joins_and_here_everybody_goes_by_the_nearest_core(network, near):
    cores = network.states[0]["cores"]
    printed, repaired = discover(near, near, cores, Rule.PRINTED), discover(near, near, cores)
    others = {peer for peer in near if peer not in cores}
    assert not others & set(printed.relays)
    assert {peer: network.states[peer]["relay"] for peer in others} == {peer: repaired.relays[peer] for peer in others}
    for peer in others:
        expected = repaired.weights[repaired.relays[peer]][peer]
        assert network.states[peer]["weight_ms"] == pytest.approx(expected)


def test_compared_with_other_cores_only_parents_form_circles_and_here_they_do_not(network, near):
    assert discover(near, near, network.states[0]["cores"], Rule.OTHERS).circles() > 0
    assert network.circle() == []
    for peer, state in network.states.items():
        at = peer
        while network.states[at]["parent"] is not None:
            at = network.states[at]["parent"]
        assert at == state["relay"]


# -- votes -------------------------------------------------------------------------------------------------------


def elected(near, parents, settings):
    """The cores that the leader of a tree chooses, everybody voting once."""
    votes = {peer: Votes(peer, settings) for peer in near}
    children = {peer: [child for child, parent in parents.items() if parent == peer] for peer in near}

    def collect(peer):
        for child in children[peer]:
            votes[peer].take(child, collect(child))
        standing = Standing(near[peer], near[peer], dict.fromkeys(near[peer], 0.0))
        return votes[peer].ballot(standing, 1)

    collect(0)
    standing = Standing(near[0], near[0], dict.fromkeys(near[0], 0.0))
    for beat in range(5):
        votes[0].lead(standing, float(beat))
    return votes[0].choice.cores


@pytest.mark.parametrize("cores", [1, 8])
def test_at_least_twice_as_many_candidates_as_cores_are_passed_on_so_that_no_favourite_of_all_is_lost(cores):
    branches = [{100 + branch: 3.0, 9: 2.0} for branch in range(3)]
    settings = CoreTreeSettings(cores=cores, strategy="CNeigh")
    leader, nobody = Votes(0, settings), Standing({}, {}, {})
    for number, votes in enumerate(branches, 1):
        inner = Votes(number, settings)
        inner.take(50, Ballot(1, 5, tuple(votes.items()), (), 4, 4.0, 4.0))
        leader.take(number, inner.ballot(nobody, 1))
    total = dict(leader.ballot(nobody, 1).votes)
    assert total[9] == 6.0 == max(total.values())
    assert 9 not in {peer for votes in branches for peer in best(votes, 1)}
    many = {peer: float(peer) for peer in range(100, 200)}
    leader.take(4, Ballot(1, 5, tuple(many.items()), (), 4, 4.0, 4.0))
    assert len(leader.ballot(nobody, 2).votes) >= 2 * cores


def test_distant_neighbours_make_nobody_a_core():
    def potential(near, distant=frozenset()):
        votes = Votes(0, CoreTreeSettings(strategy="SPotent"))
        votes.follow(Choice(0, 1, (0,), delay_ms=10.0, weight=10.0))
        return dict(votes.ballot(Standing(near, near, near, frozenset(distant)), 1).votes)[0]

    near = {1: 20.0, 2: 30.0}
    distant = dict.fromkeys(range(3, 9), 60.0)
    assert potential(near | distant, distant) < potential(near) < potential(near | distant)
    assert potential(distant, distant) < potential(near | distant, distant)
    edge, middle = {1: 1.0}, {1: 5.0, 2: 10.0, 3: 15.0}
    assert potential(edge) > potential(middle), "one that has somebody beside it, and nobody else"
    assert potential(edge | {8: 60.0}, {8}) < potential(middle | {8: 40.0}, {8})


def test_potentials_rank_peers_alike_whatever_the_unit_of_time():
    drawn = random.Random(4)
    near = {peer: {} for peer in range(12)}
    for one in range(12):
        for other in drawn.sample([peer for peer in range(12) if peer != one], 2):
            near[one][other] = near[other][one] = drawn.uniform(1.0, 200.0)
    seconds = {peer: {other: each / 100_000 for other, each in others.items()} for peer, others in near.items()}
    parents = dict.fromkeys(range(1, 12), 0)
    settings = CoreTreeSettings(cores=3)
    assert elected(near, parents, settings) == elected(seconds, parents, settings)
    literal = [select(potentials(each, each, 12, normalised=False), 12) for each in (near, seconds)]
    assert literal[0] != literal[1]


@pytest.mark.parametrize("strategy", ["SPath", "MaxPath"])
def test_where_paths_are_scored_the_leader_knows_all_links_and_chooses_the_middle(strategy):
    line = {peer: {other: 1.0 for other in (peer - 1, peer + 1) if 0 <= other < 7} for peer in range(7)}
    parents = {peer: peer - 1 for peer in range(1, 7)}
    assert elected(line, parents, CoreTreeSettings(cores=1, strategy=strategy)) == (3,)


def test_a_choice_that_is_hardly_better_is_not_made_and_a_core_that_is_missing_is_replaced():
    settings = CoreTreeSettings(cores=1, strategy="CNeigh", beat_ms=1.0, rebuild_ms=10.0)
    votes = Votes(0, settings)
    nobody = Standing({}, {}, {})

    def beats(begin, *counted, present, peers=(5, 5)):
        for beat in range(6):
            votes.take(1, Ballot(begin * 100 + beat, peers[beat % 2], counted, present, 4, 4.0, 4.0))
            votes.lead(nobody, begin * 100.0 + beat)
        return votes.choice.cores

    assert beats(0, (3, 100.0), (4, 90.0), present=()) == (3,)
    assert beats(1, (4, 101.0), (3, 100.0), present=(3,)) == (3,)
    assert beats(2, (4, 120.0), (3, 100.0), present=(3,)) == (4,)
    assert beats(3, (3, 150.0), present=(4,), peers=(5, 6)) == (4,)  # while peers come and go there is time
    assert beats(4, (3, 150.0), present=(), peers=(5, 6)) == (3,)  # but not if a core is missing


# -- weights -----------------------------------------------------------------------------------------------------


def sketch_of(numbers):
    sketch = Sketch()
    for number in numbers:
        sketch.note(f"e{number}")
    return sketch.to_bytes()


def test_similarity_is_exact_for_few_events_and_about_right_for_many():
    assert similarity(sketch_of(range(60)), sketch_of(range(30, 90))) == 30 / 90
    assert similarity(sketch_of(range(6_000)), sketch_of(range(3_000, 9_000))) == pytest.approx(1 / 3, abs=0.12)
    assert similarity(b"", b"") == 1.0
    assert similarity(sketch_of(range(5)), b"") == 0.0


def test_what_was_wanted_before_the_last_turn_but_one_is_forgotten():
    sketch = Sketch()
    sketch.note("a")
    sketch.turn()
    sketch.note("b")
    assert similarity(sketch.to_bytes(), b"") == 0.0
    sketch.turn()
    sketch.turn()
    assert sketch.to_bytes() == b""


def test_beta_makes_links_to_peers_of_other_interests_longer_by_mean_delays():
    weights = LinkWeights(beta=2.0)
    weights.compare(sketch_of(range(10)), {1: sketch_of(range(10)), 2: sketch_of(range(20, 30))})
    weights.measure({1: 5.0, 2: 5.0}, mean_ms=4.0)
    assert weights.weights == {1: 5.0, 2: 13.0}


def test_a_measurement_that_hardly_differs_changes_no_weight():
    weights = LinkWeights(beta=0.0)
    for measured, expected in ((10.0, 10.0), (10.9, 10.0), (11.1, 11.1), (9.0, 9.0)):
        weights.measure({1: measured}, 0.0)
        assert weights.weights[1] == expected


# -- tables over links that come and go --------------------------------------------------------------------------


class Routers:
    """Routers on a tree of which any part may move; messages of a link that was ended are dropped."""

    def __init__(self, count, seed, **options):
        self.random = random.Random(seed)
        self.routers = [ChangingRouter(matcher_tables("brute_force"), **options) for _ in range(count)]
        self.links = {}
        self.waiting = []
        self.ended = 0

    def carry(self, node, effects):
        for effect in effects:
            for other in effect.destinations:
                self.waiting.append((node, other, self.links[frozenset((node, other))], effect.message))

    def join(self, one, other):
        self.ended += 1
        self.links[frozenset((one, other))] = self.ended
        self.carry(one, self.routers[one].attach(other))
        self.carry(other, self.routers[other].attach(one))

    def part(self, one, other):
        del self.links[frozenset((one, other))]
        for node, gone in ((one, other), (other, one)):
            self.carry(node, self.routers[node].detach(gone))

    def step(self):
        """The first message of any link arrives."""
        link = self.random.choice(self.waiting)[:2]
        place = next(place for place, each in enumerate(self.waiting) if each[:2] == link)
        sender, node, number, message = self.waiting.pop(place)
        if self.links.get(frozenset((sender, node))) != number:
            return
        router = self.routers[node]
        if isinstance(message, Announce):
            self.carry(node, router.subscribe(message.entries, sender, anew=message.anew))
        else:
            self.carry(node, router.unsubscribe(message.ids, sender))

    def side(self, node, neighbour):
        """Who lies behind a neighbour."""
        seen, stack = {node, neighbour}, [neighbour]
        while stack:
            at = stack.pop()
            near = {other for link in self.links if at in link for other in link} - seen
            seen |= near
            stack += near
        return seen - {node}


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(["none", "covering"]))
def test_tables_are_right_once_all_is_said_however_parts_of_the_tree_moved(seed, by_origin, summary):
    net = Routers(6, seed, by_origin=by_origin, summary=summary)
    drawn = net.random
    held = {}
    for node in range(1, 6):
        net.join(node, drawn.randrange(node))
    for _ in range(25):
        match drawn.randrange(5):
            case 0 | 1:
                node, low = drawn.randrange(6), drawn.randrange(8)
                entry = (
                    f"s{node}.{drawn.randrange(3)}",
                    Filter.parse(f"v BETWEEN {low} AND {low + drawn.randrange(4)}"),
                    node,
                )
                held[entry[0]] = entry
                net.carry(node, net.routers[node].subscribe([entry], LOCAL))
            case 2 if held:
                id = drawn.choice(sorted(held))
                *_, node = held.pop(id)
                net.carry(node, net.routers[node].unsubscribe([id], LOCAL))
            case 3:
                one, other = drawn.choice(sorted(map(sorted, net.links)))
                beyond = net.side(one, other)
                net.part(one, other)
                net.join(drawn.choice(sorted(beyond)), drawn.choice([each for each in range(6) if each not in beyond]))
            case _:
                for _ in range(drawn.randrange(6)):
                    if net.waiting:
                        net.step()
    while net.waiting:
        net.step()
    for value in range(12):
        event = Event({"v": value}, id="e")
        wanted = {node for _, filter_, node in held.values() if filter_.matches(event)}
        for node, router in enumerate(net.routers):
            for neighbour in router.neighbours:
                behind = wanted & net.side(node, neighbour)
                assert router.wants(neighbour, event) is bool(behind)
            if by_origin:
                assert router.origins(event) == wanted - {node}


# -- the scheme --------------------------------------------------------------------------------------------------


def test_options_that_do_nothing_without_a_ground_are_remarked_on():
    chosen = scheme("core-tree")
    ground = Ground(np.zeros((2, 2)), np.random.default_rng(1))
    for kind, expected in (("none", ("targets does nothing without a ground",)), ("delays", ())):
        options = chosen.configure({"ground": kind, "targets": 3})
        assert chosen.remarks(ground, options, chosen.plan(ground, options)) == expected
