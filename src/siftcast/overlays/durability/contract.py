"""What durable nodes are asked, and what they answer, beyond the contract of all protocols.

    client                                       node
    DurableSubscribeRequested ─────────────────▶        safe: Accept
    SubscriberAttached ────────────────────────▶        Offer, Offer, …
    OffersAcknowledged, OfferRefused ──────────▶        again, or Bury
    PublishRequested(durable=True) ────────────▶        safe: Accept

`Durable` handles these; no scheme sees them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from siftcast.model import Event, Subscription, SubscriptionError
from siftcast.model.showing import shown
from siftcast.overlays.contract import Effect, NodeId, Stimulus

_WHOLE_MAX = 2**63 - 1
"""The largest whole number on disk and on the wire."""


class QueuePolicy(msgspec.Struct, frozen=True, gc=False):
    """What a durable subscription keeps, and when it gives up on an event.

    The limits are about all events it holds, acknowledged ones (kept to be replayed) and waiting ones. Beyond them the
    oldest acknowledged event goes first, then the oldest waiting one, which is told by `Expire`. An event refused
    `refusals_max` times becomes a dead letter, of which the last `dead_letters_max` are kept.
    """

    events_max: int = 100_000
    bytes_max: int = 256 * 2**20
    age_ms_max: float = 7 * 86_400_000.0
    refusals_max: int = 5
    dead_letters_max: int = 1_000

    def __post_init__(self) -> None:
        for name, least in (("events_max", 1), ("bytes_max", 1), ("refusals_max", 1), ("dead_letters_max", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= _WHOLE_MAX:
                raise SubscriptionError(
                    f"{name} of a durable subscription is a whole number from {least} to 2^63 - 1, not {shown(value)}"
                )
        age_ms: object = self.age_ms_max
        if not isinstance(age_ms, int | float) or type(age_ms) is bool or not age_ms > 0:  # as NaN is not
            raise SubscriptionError(f"age_ms_max of a durable subscription is a positive number, not {shown(age_ms)}")


class DurableSubscribeRequested(Stimulus, frozen=True, gc=False):
    """A durable subscription is wanted, named by its id; one of this name is given its new filter and policy.

    Answered by `Accept` with the name once it is safe. `UnsubscribeRequested` ends it, with all it holds.
    """

    subscription: Subscription
    policy: QueuePolicy = QueuePolicy()


class SubscriberAttached(Stimulus, frozen=True, gc=False):
    """A client takes what a durable subscription holds, at most `window` unanswered offers at a time.

    It goes on after what was acknowledged, or, with `start` or `since_ms` (calendar time), from that position or time
    on once more, as far back as events are held. Whoever was attached before is not any longer.
    """

    subscription: str
    window: int = 256
    start: int | None = None
    since_ms: float | None = None


class SubscriberDetached(Stimulus, frozen=True, gc=False):
    """The client of a durable subscription is gone; what it did not answer will be offered again."""

    subscription: str


class OffersAcknowledged(Stimulus, frozen=True, gc=False):
    """Offers were taken; positions that are not open mean nothing."""

    subscription: str
    positions: Sequence[int]


class OfferRefused(Stimulus, frozen=True, gc=False):
    """An offer could not be used; it is offered again, before anything new, or becomes a dead letter."""

    subscription: str
    position: int
    reason: str = ""


class HandOverRequested(Stimulus, frozen=True, gc=False):
    """The node leaves: another takes over its durable subscriptions, with all they hold."""

    heir: NodeId


class AdoptSubscriptions(Effect, frozen=True, gc=False):
    """Durable subscriptions of a node that is gone are this node's from now on, with what was kept for them here."""

    subscriptions: Sequence[Subscription]


class Postpone(Effect, frozen=True, gc=False):
    """Whoever asked for these durable subscriptions is not answered yet: no other node would stand up for them."""

    ids: Sequence[str]


class Admit(Effect, frozen=True, gc=False):
    """Whoever asked for these durable subscriptions may be answered."""

    ids: Sequence[str]


class Accept(Effect, frozen=True, gc=False):
    """Tells whoever asked for a durable publish (its event's id) or subscription (its name) that it is safe."""

    request: str


class Offer(Effect, frozen=True, gc=False):
    """Hands an event of a durable subscription to the attached client, which acknowledges or refuses it.

    Positions ascend with the order of arrival at this node and have gaps; `attempt` counts from 1 and grows with
    refusals. An event may be offered again after the client or the node was gone, at the same position.
    """

    subscription: str
    position: int
    event: Event
    attempt: int = 1


class Bury(Effect, frozen=True, gc=False):
    """Tells that an event was refused too often, and is now kept apart with the last reason."""

    subscription: str
    position: int
    event: Event
    refusals: int
    reason: str


class Expire(Effect, frozen=True, gc=False):
    """Tells that waiting events of a durable subscription were dropped, because it held more than its policy allows."""

    subscription: str
    positions: Sequence[int]
    reason: str
