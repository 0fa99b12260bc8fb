"""Input that stopped a node: how often it did, and when it is no longer handed in.

An exception inside a protocol stops the node, which restarts from disk. Whoever sent the input that caused it was not
answered and sends it again, so a single message could stop a node for ever. After STOPS_MAX times it is set aside.

Only what comes from outside is: a message, a request. A timer or a write that was answered belongs to the node itself,
and going past it would leave the protocol waiting; there the node restarts as often as it must, ever later.
"""

from __future__ import annotations

from hashlib import blake2b

from siftcast.overlays.contract import (
    Effect,
    MessageReceived,
    PublishRequested,
    Refuse,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.durability.contract import (
    DurableSubscribeRequested,
    OfferRefused,
    OffersAcknowledged,
    SubscriberAttached,
)

STOPS_MAX = 3
_REMEMBERED_MAX = 1_000
_FROM_OUTSIDE = (
    MessageReceived,
    PublishRequested,
    SubscribeRequested,
    UnsubscribeRequested,
    DurableSubscribeRequested,
    SubscriberAttached,
    OffersAcknowledged,
    OfferRefused,
)


class SetAside:
    """Counts stops by input."""

    def __init__(self) -> None:
        self._stops: dict[bytes, int] = {}

    def note(self, stimulus: Stimulus) -> int:
        """An input stopped the node; how often by now."""
        if not isinstance(stimulus, _FROM_OUTSIDE):
            return 0
        key = _key(stimulus)
        count = self._stops.pop(key, 0) + 1
        self._stops[key] = count
        if len(self._stops) > _REMEMBERED_MAX:
            del self._stops[next(iter(self._stops))]
        return count

    def __contains__(self, stimulus: Stimulus) -> bool:
        """Whether an input is not to be handed in any more. Costs nothing until something has stopped the node."""
        if not self._stops or not isinstance(stimulus, _FROM_OUTSIDE):
            return False
        return self._stops.get(_key(stimulus), 0) >= STOPS_MAX


def refusals(stimulus: Stimulus, reason: str) -> list[Effect]:
    """What is said to those who asked for something that was set aside."""
    match stimulus:
        case PublishRequested(event):
            return [Refuse(event.id, reason)]
        case DurableSubscribeRequested(subscription):
            return [Refuse(subscription.id, reason)]
        case SubscribeRequested(subscriptions):
            return [Refuse(each.id, reason) for each in subscriptions]
    return []


def _key(stimulus: Stimulus) -> bytes:
    text = (
        f"{stimulus.sender}: {stimulus.message.signature}" if isinstance(stimulus, MessageReceived) else repr(stimulus)
    )
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
