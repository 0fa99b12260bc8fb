"""Clients of durable subscriptions: they attach, take offers, and acknowledge or refuse them.

A client whose node crashed attaches again once the node is back, after `reconnect_ms`, as a real one would. Its answers
to a node that went down meanwhile are lost with the connection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.overlays.contract import Stimulus
from siftcast.overlays.durability.contract import Offer, OfferRefused, OffersAcknowledged, SubscriberAttached


@dataclass(slots=True)
class DurableClient:
    """Takes what the durable subscription of a name holds; refuses a share of the offers."""

    name: str
    window: int = 16
    answer_ms: float = 1.0
    reconnect_ms: float = 5.0
    refuse: float = 0.0
    random: np.random.Generator | None = None

    def __post_init__(self) -> None:
        if self.refuse and self.random is None:
            raise ValueError("a client that refuses a share of its offers needs a generator to choose them")

    def attach(self) -> tuple[float, Stimulus]:
        """What it does when its node starts, and after how many milliseconds."""
        return self.reconnect_ms, SubscriberAttached(self.name, self.window)

    def answer(self, offer: Offer) -> tuple[float, Stimulus]:
        """What it does with an offer."""
        if self.random is not None and self.random.random() < self.refuse:
            return self.answer_ms, OfferRefused(self.name, offer.position, "not now")
        return self.answer_ms, OffersAcknowledged(self.name, (offer.position,))
