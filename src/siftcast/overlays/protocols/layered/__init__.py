"""Matching and delivery as two layers, each with interchangeable solutions (layering paper, section 3).

    PublishRequested ─▶ finder ─▶ Found(event, nodes) ─▶ delivery.send(Notice, nodes) ─▶ own table ─▶ Deliver
                        (who?)                           (how?)

    node.py             `Layered`, which joins the two at one node
    finder.py           what a matching layer is, and the effect by which it names destinations
    everywhere.py       every node knows all subscriptions: matched where an event is published
    rendezvous.py       matchers on a ring of clusters (4.2); with one cluster a hub, or rendezvous of clusters
    inquiries.py        … what a publisher's node keeps until all its clusters have answered
    keeper.py           … what a matcher keeps, and when it has caught up
    cluster_keeper.py   … the same, but whole clusters of subscriptions are found
    receipts.py         … who has confirmed what
    messages.py         what the layers say to each other

A finder never sends an event to whom it finds, a delivery never looks into what it carries. Matchers may be other nodes
than those of publishers and subscribers, and the nodes of the delivery see envelopes only.
"""

from siftcast.overlays.protocols.layered.everywhere import Everywhere
from siftcast.overlays.protocols.layered.finder import Finder, Found
from siftcast.overlays.protocols.layered.messages import LAYERED_MESSAGES
from siftcast.overlays.protocols.layered.node import CARRIER, AnyLayers, FloodedLayers, Layered, RendezvousLayers
from siftcast.overlays.protocols.layered.rendezvous import Rendezvous, RendezvousSettings

__all__ = [
    "CARRIER",
    "LAYERED_MESSAGES",
    "AnyLayers",
    "Everywhere",
    "Finder",
    "FloodedLayers",
    "Found",
    "Layered",
    "Rendezvous",
    "RendezvousLayers",
    "RendezvousSettings",
]
