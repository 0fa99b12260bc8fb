"""How what happens to nodes is written into a trace, and told when a run breaks."""

from __future__ import annotations

from typing import Any

from siftcast.overlays.contract import (
    Effect,
    LeaveRequested,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    PublishRequested,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.durability.contract import (
    Accept,
    Bury,
    DurableSubscribeRequested,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.trace import Trace

NOBODY = -1
"""Stands in a trace for the node of what happens to the network as a whole."""
_TAIL = 12
_TAIL_SOUGHT = 10_000


def note_request(
    trace: Trace, now: float, node: NodeId, stimulus: Stimulus, *, heard: bool, matches: int = 0, lookups: int = 0
) -> None:
    """Writes down what was asked of a node, as what it is or, if nobody was there to hear it, as missed."""

    def note(kind: str, name: str | None, peer: NodeId | None = None) -> None:
        trace.records.append((now, kind if heard else "missed", node, peer, name, None, 0, 0, 0))

    match stimulus:
        case PublishRequested(event):
            kind = "published" if heard else "missed"
            trace.records.append((now, kind, node, None, None, event.id, matches, lookups, 0))
            if heard:
                trace.events[event.id] = event
        case SubscribeRequested(subscriptions):
            for item in subscriptions:
                note("subscribed", trace.keep_subscription(item) if heard else item.id)
        case UnsubscribeRequested(ids):
            for id in ids:
                note("unsubscribed", id)
        case DurableSubscribeRequested(subscription):
            note("subscribed durably", trace.keep_subscription(subscription) if heard else subscription.id)
        case OffersAcknowledged(name, positions):
            for position in positions:
                note("acknowledged", offer_key(name, position))
        case OfferRefused(name, position):
            note("offer refused", offer_key(name, position))
        case SubscriberAttached(name, _, start, since_ms):
            note("attached" if start is None and since_ms is None else "replayed", name)
        case SubscriberDetached(name):
            note("detached", name)
        case PeerLost(peer):
            note("peer lost", None, peer)
        case PeerFound(peer):
            note("peer found", None, peer)
        case PeerGone(peer):
            note("peer gone", None, peer)
        case LeaveRequested():
            note("leaving", None)


def note_durable(trace: Trace, now: float, node: NodeId, effect: Effect) -> None:
    """Writes down what a node tells its clients about durable events and subscriptions."""

    def note(kind: str, name: str | None, event: str | None) -> None:
        trace.records.append((now, kind, node, None, name, event, 0, 0, 0))

    match effect:
        case Accept(request):
            is_event = request in trace.events
            note("accepted", None if is_event else request, request if is_event else None)
        case Offer(name, position, event):
            note("offered", offer_key(name, position), event.id)
        case Bury(name, position, event):
            note("dead letter", offer_key(name, position), event.id)
        case Expire(name, positions):
            for position in positions:
                note("expired", offer_key(name, position), None)


def offer_key(name: str, position: int) -> str:
    """How records name an offer: durable subscription and position."""
    return f"{name}@{position}"


def tell_story(trace: Trace, now: float, node: NodeId, stimulus: Any, error: Exception) -> str:
    """What an error in the middle of a run is told with: when, where, on what, and what happened there last."""
    what = "the schedule" if node == NOBODY else f"node {node} on {type(stimulus).__name__}"
    lines = [f"at {now:.3f} ms, {what}: {type(error).__name__}: {error}"]
    rows = [row for row in trace.records[-_TAIL_SOUGHT:] if node in (row[2], row[3])][-_TAIL:]
    if rows:
        lines.append("What happened there last:")
    for time, kind, at, peer, name, event, *_ in rows:
        details = "".join(f" {each}" for each in (peer, name, event) if each is not None)
        lines.append(f"  {time:.3f} ms  node {at} {kind}{details}")
    return "\n".join(lines)
