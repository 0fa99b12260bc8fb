"""The worked example of the Kyra paper: eight servers, values 0 to 9, three cliques and three trees."""

import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import MessageReceived, PublishRequested, Spent, SubscribeRequested
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.kyra import Entrust, Handover, Kyra, Notification
from siftcast.overlays.tables import matcher_tables
from siftcast.space import Clique, ContentSpace, KyraLayout, OwnedZones, Partition, Tree

NAMES = "ABCDEFGH"
A, B, C, D, E, F, G, H = range(8)
SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
# The paper's table of subscriptions is lost; these move to the proxies that it lists.
WANTED = {A: {1, 7}, B: {2}, C: {8}, D: {3, 5}, E: {0, 6}, F: {4, 7}, G: {2, 6}, H: {5, 9}}
PROXY_SUBSCRIPTIONS = {A: {1, 2}, B: set(), C: {7, 8}, D: {0, 3}, E: {5, 6}, F: {2}, G: {4, 5, 6}, H: {7, 9}}
TREE = Tree(range(8), [(A, C), (B, C), (C, E), (D, E), (E, F), (F, G), (G, H)])


def zones(places, owners):
    return OwnedZones(Partition.along(SPACE, 0, places), tuple(owners))


LAYOUT = KyraLayout(
    (
        Clique((A, B, C), zones([4, 7], (A, B, C)), B),
        Clique((D, E), zones([5], (D, E)), D),
        Clique((F, G, H), zones([4, 7], (F, G, H)), F),
    ),
    zones([4, 7], (0, 1, 2)),
    {
        0: Tree((A, D, F), [(A, D), (D, F)]),
        1: Tree((B, D, E, G), [(B, E), (B, G), (D, E)]),
        2: Tree((C, E, H), [(C, E), (E, H)]),
    },
    Tree((B, D, F), [(B, D), (D, F)]),
)


class Network(Loopback):
    """Notes who matched a received event with routing tables."""

    def __init__(self, factory):
        self.matched = {}
        super().__init__(range(8), factory)
        for server, values in WANTED.items():
            wanted = [Subscription(f"{NAMES[server]}{v}", Filter.parse(f"value = {v}")) for v in sorted(values)]
            self.do(server, SubscribeRequested(tuple(wanted)))
        self.moved = list(self.sent)
        self.sent.clear()

    def tell(self, node, stimulus):
        handle = self.protocols[node].handle

        def watched(stimulus, now):
            effects = handle(stimulus, now)
            spent = sum(effect.matches for effect in effects if isinstance(effect, Spent))
            if spent and isinstance(stimulus, MessageReceived):
                self.matched[NAMES[node]] = spent
            return effects

        self.protocols[node].__dict__["handle"] = watched
        try:
            super().tell(node, stimulus)
        finally:
            del self.protocols[node].__dict__["handle"]

    def way(self):
        return [(NAMES[a] + NAMES[b], type(message)) for a, b, message in self.sent]


def fbr():
    return Network(lambda node: FilterBased(node, TreeLinks.of(TREE, node), matcher_tables("brute_force")))


def kyra():
    return Network(lambda node: Kyra(node, LAYOUT, matcher_tables("brute_force")))


def test_under_filter_based_routing_event_9_from_a_is_matched_at_c_e_f_g_before_it_reaches_h():
    net = fbr()
    net.do(A, PublishRequested(Event({"value": 9}, id="nine")))
    assert net.way() == [(hop, Publication) for hop in ("AC", "CE", "EF", "FG", "GH")]
    assert list(net.matched) == ["C", "E", "F", "G"]
    assert net.delivered == [(H, "nine", "H9")]


def test_under_kyra_event_9_from_a_goes_to_c_and_then_along_tree_2_to_h():
    net = kyra()
    net.do(A, PublishRequested(Event({"value": 9}, id="nine")))
    assert net.way() == [("AC", Handover), ("CE", Publication), ("EH", Publication)]
    assert all(message.network == 2 for *_, message in net.sent if isinstance(message, Publication))
    assert net.delivered == [(H, "nine", "H9")]


def test_proxies_hold_the_published_subscriptions():
    net = kyra()
    moved = [(to, id) for _, to, message in net.moved if isinstance(message, Entrust) for id, _, _ in message.entries]
    assert moved
    assert all(int(id.partition("@")[0][1:]) in PROXY_SUBSCRIPTIONS[to] for to, id in moved)
    held = {server: net.protocols[server].state()["proxied"] for server in range(8)}
    assert held == {server: len(values) for server, values in PROXY_SUBSCRIPTIONS.items()}


def test_routing_tables_are_as_short_as_the_published_ones():
    """On t0, D has {1, 2} of A and {2} of F, on t1 {5, 6} of E and {4-6} of G, and so on; parts of others add to it."""
    net = kyra()
    tables = {"A": 3, "B": 5, "C": 2, "D": 8, "E": 7, "F": 4, "G": 2, "H": 2}
    entrusted = {"A": 1, "B": 0, "C": 1, "D": 1, "E": 1, "F": 1, "G": 2, "H": 1}
    for server, name in enumerate(NAMES):
        state = net.protocols[server].state()
        assert (name, state["entries"]) == (name, tables[name] + entrusted[name])
        assert state["entries"] < fbr().protocols[server].state()["entries"]


@pytest.mark.parametrize("value", range(10))
@pytest.mark.parametrize("publisher", range(8))
def test_every_event_reaches_who_wants_it_and_publishers_hear_nothing_back(value, publisher):
    for net in (fbr(), kyra()):
        net.do(publisher, PublishRequested(Event({"value": value}, id="e")))
        wanted = [(server, "e", f"{NAMES[server]}{value}") for server, values in WANTED.items() if value in values]
        assert sorted(net.delivered) == wanted
        assert not any(to == publisher for _, to, message in net.sent if isinstance(message, Notification))
