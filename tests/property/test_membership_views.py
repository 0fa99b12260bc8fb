"""Laws of the views: whatever happens to messages and nodes, they stay in bounds; left alone, they settle.

A few nodes and a bag of messages: Hypothesis says which message arrives next, gets lost or comes twice, whose timer
runs out, and who crashes and starts again. So every reordering is tried, and more than a network would do.
"""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.contract import SendMessage, Unwatch, Watch
from siftcast.overlays.membership import PartialView, PartialViewOptions, RandomView, RandomViewOptions

ROUNDS_MAX = 300
actions = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "arrive", "arrive", "lose", "repeat", "tick", "crash"]), st.integers(0, 2**16)
    ),
    max_size=120,
)


class Mesh:
    """Partial views joined by a bag of messages."""

    def __init__(self, count, options, seed):
        self.options = options
        self.random = Random(seed)
        self.now = 0.0
        self.bag = []
        self.watched = {node: set() for node in range(count)}
        self.views = {}
        for node in range(count):
            self.start(node)

    def start(self, node):
        contacts = (self.random.randrange(node),) if node else ()
        self.watched[node] = set(contacts)
        self.views[node] = PartialView(node, self.options, Random(self.random.random()))
        self.do(node, self.views[node].handle_started(contacts, self.now))

    def do(self, node, effects):
        for effect in effects:
            match effect:
                case SendMessage(message, destinations):
                    assert node not in destinations
                    self.bag += ((node, to, message) for to in destinations)
                case Watch(peer):
                    self.watched[node].add(peer)
                case Unwatch(peer):
                    self.watched[node].discard(peer)
        self.views[node].news.clear()
        self.check(node)

    def check(self, node):
        view, options = self.views[node], self.options
        assert len(view.active) <= options.active_size
        assert len(view.passive) <= options.passive_size
        assert len(view.former) <= options.active_size
        assert len({*view.active, *view.passive}) == len(view.active) + len(view.passive)
        assert node not in [*view.active, *view.passive, *view.former]
        assert {*view.active, *view.former} <= self.watched[node]

    def arrive(self, place, *, keep=False):
        sender, to, message = self.bag[place] if keep else self.bag.pop(place)
        self.do(to, self.views[to].handle_message(sender, message, self.now))

    def tick(self, node):
        self.now += 1.0
        self.do(node, self.views[node].handle_timer("view/shuffle", self.now))
        self.now += self.options.request_ms
        self.do(node, self.views[node].handle_timer("view/requests", self.now))

    def crash(self, node):
        """Takes a node down and up again at once, so that nobody but those who watch notices."""
        self.start(node)
        for other, view in self.views.items():
            if other != node and node in self.watched[other]:
                self.do(other, view.handle_lost(node, self.now))
                self.do(other, view.handle_found(node, self.now))

    def settle(self, is_settled):
        """Everything arrives and everybody shuffles, until all is as it should be, or for a long while."""
        for _ in range(ROUNDS_MAX):
            if is_settled():
                return
            for node in self.views:
                self.now += 1.0
                self.do(node, self.views[node].handle_timer("view/shuffle", self.now))
                while self.bag:
                    self.arrive(self.random.randrange(len(self.bag)))
            self.now += self.options.request_ms
            for node in self.views:
                self.do(node, self.views[node].handle_timer("view/requests", self.now))
                while self.bag:
                    self.arrive(self.random.randrange(len(self.bag)))

    def is_symmetric(self):
        links = {(node, peer) for node, view in self.views.items() for peer in view.active}
        return not self.bag and links == {(peer, node) for node, peer in links}

    def is_whole(self):
        return self.group_of(0) == set(self.views)

    def group_of(self, node):
        found, new = {node}, [node]
        while new:
            new = [peer for each in new for peer in self.views[each].active if peer not in found]
            found.update(new)
        return found


@given(st.integers(1, 8), actions, st.integers(0, 2**32), st.sampled_from([3, 4, 5]), st.integers(1, 6))
def test_partial_views_stay_in_bounds_whatever_happens_and_then_become_symmetric(count, steps, seed, active, passive):
    # Without mixing, which makes and breaks links as long as a network lives.
    mesh = Mesh(count, PartialViewOptions(active_size=active, passive_size=passive, mixing=0), seed)
    for action, number in steps:
        if action == "tick":
            mesh.tick(number % count)
        elif action == "crash":
            mesh.crash(number % count)
        elif mesh.bag:
            place = number % len(mesh.bag)
            if action == "lose":
                mesh.bag.pop(place)
            else:
                mesh.arrive(place, keep=action == "repeat")
    mesh.settle(mesh.is_symmetric)
    assert mesh.is_symmetric()


@given(st.integers(2, 8), st.lists(st.integers(0, 2**16), max_size=60), st.integers(0, 2**32))
def test_small_networks_hold_together_although_messages_were_lost_while_they_formed(count, lost, seed):
    mesh = Mesh(count, PartialViewOptions(mixing=3), seed)
    for number in lost:
        if mesh.bag:
            mesh.bag.pop(number % len(mesh.bag))
        if mesh.bag:
            mesh.arrive(number % len(mesh.bag))
    mesh.settle(mesh.is_whole)
    assert mesh.is_whole()


@given(
    st.integers(2, 12),
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from(["tick", "arrive", "lose", "forget"]), st.integers(0, 2**16)), max_size=150),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
def test_random_views_never_hold_themselves_a_name_twice_or_too_many(count, size, steps, seed, oldest, swap, healing):
    random = Random(seed)
    options = RandomViewOptions(
        size=size, exchanged=min(3, size), oldest=oldest, swapping=swap, healing=min(healing, size)
    )
    views = {node: RandomView(node, options, random) for node in range(count)}
    for node, other in pairwise(range(count)):
        views[node].handle_started((other,))
    bag = []
    for action, number in steps:
        node = number % count
        effects = ()
        if action == "tick":
            effects = views[node].handle_timer("random/exchange")
        elif action == "forget":
            views[node].forget(number % 7)
        elif bag:
            sender, node, message = bag.pop(number % len(bag))
            effects = views[node].handle_message(sender, message) if action == "arrive" else ()
        for effect in effects:
            if isinstance(effect, SendMessage):
                bag += ((node, to, effect.message) for to in effect.destinations)
                assert len(effect.message.names) <= options.exchanged
        names = views[node].names
        assert len(set(names)) == len(names) <= size
        assert node not in names
        assert all(views[node].age(name) >= 0 for name in names)
