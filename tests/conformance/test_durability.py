"""Schemes wrapped in durability against the suite of all schemes, with ephemeral requests and with durable ones."""

import pytest

from siftcast.overlays.conformance import SchemeConformance
from siftcast.overlays.contract import Deliver, Protocol, PublishRequested, SubscribeRequested
from siftcast.overlays.delivery import AlongTree
from siftcast.overlays.durability import Durable, Settings
from siftcast.overlays.durability.contract import (
    DurableSubscribeRequested,
    Offer,
    OffersAcknowledged,
    SubscriberAttached,
)
from siftcast.overlays.links import SourceTreeLinks, TreeLinks
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.reuse import Reuse
from tests.conformance.test_kyra import KyraConformance, chosen


class AllDurable(Protocol):
    """Turns every request into a durable one, and every offer, which it acknowledges, into a delivery."""

    def __init__(self, durable):
        self.durable = durable

    def handle(self, stimulus, now):
        asked = [stimulus]
        match stimulus:
            case SubscribeRequested(subscriptions):
                asked = []
                for item in subscriptions:
                    asked += [DurableSubscribeRequested(item), SubscriberAttached(item.id, window=1)]
            case PublishRequested(event):
                asked = [PublishRequested(event, durable=True)]
        effects = []
        for each in asked:
            effects += self.meet(each, now)
        return effects

    def meet(self, stimulus, now):
        effects = []
        for effect in self.durable.handle(stimulus, now):
            if isinstance(effect, Offer):
                effects.append(Deliver(effect.event, [effect.subscription]))
                effects += self.meet(OffersAcknowledged(effect.subscription, (effect.position,)), now)
            else:
                effects.append(effect)
        return effects


class Wrapped:
    """Mixed in before a scheme's own test: the scheme as before, with durability around it."""

    everything_durable = False

    def factory(self, case):
        inner = super().factory(case)

        def make(node):
            durable = Durable(node, inner(node), Settings(window=2))
            return AllDurable(durable) if self.everything_durable else durable

        return make

    def check_messages(self, net, publisher):
        pass


class FilterBasedScheme(SchemeConformance):
    options = chosen()

    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, **self.options)


class OnGraphs(SchemeConformance):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables)


class MatchEarly(SchemeConformance):
    def factory(self, case):
        def make(node):
            delivery = AlongTree(node, case.tree.next_hops(node))
            finder = Everywhere(node, TreeLinks.of(case.tree, node), case.tables)
            return FloodedLayers(node, finder, delivery, case.tables)

        return make


class TestFilterBased(Wrapped, FilterBasedScheme):
    pass


class TestFilterBasedAllDurable(Wrapped, FilterBasedScheme):
    everything_durable = True


class TestFilterBasedAllDurableWithMergingAndReuse(Wrapped, FilterBasedScheme):
    everything_durable = True
    options = chosen(summary="merging", reuse=Reuse.parse("partial-2"))


class TestOnGraphsAllDurable(Wrapped, OnGraphs):
    everything_durable = True


class TestMatchEarly(Wrapped, MatchEarly):
    pass


class TestMatchEarlyAllDurable(Wrapped, MatchEarly):
    everything_durable = True


class TestKyra(Wrapped, KyraConformance):
    pass


class TestKyraAllDurable(Wrapped, KyraConformance):
    everything_durable = True


class TestKyraOnRingsAllDurable(Wrapped, KyraConformance):
    everything_durable = True
    planning = chosen(clique_ms_max=9.0)
    options = chosen(clique_delivery="ring", summary="covering")


@pytest.mark.parametrize("window", [0, -1])
def test_a_node_without_room_for_a_relay_cannot_be_made(window):
    with pytest.raises(ValueError, match="at least 1"):
        Settings(window=window)
