"""Siftcast: content-based publish/subscribe. Every event reaches exactly the subscribers it satisfies.

import siftcast as sc

m = sc.Matcher()
m.add("sub-1", sc.Filter.parse("symbol = 'IBM' AND price < 95"))
m.match({"symbol": "IBM", "price": 88})        # ['sub-1']

`connect`, `connect_sync` and what comes with them are imported when they are first used, so that matching alone does
not load the network.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from siftcast.matching import Matcher
from siftcast.model import (
    Attribute,
    Event,
    Explanation,
    Filter,
    FilterLimits,
    Schema,
    SiftcastError,
    Subscription,
)

if TYPE_CHECKING:
    from siftcast.runtimes.live.client import Bus as Bus
    from siftcast.runtimes.live.client import connect as connect
    from siftcast.runtimes.live.received import EventStream as EventStream
    from siftcast.runtimes.live.received import ReceivedEvent as ReceivedEvent
    from siftcast.runtimes.live.sync_client import SyncBus as SyncBus
    from siftcast.runtimes.live.sync_client import connect_sync as connect_sync

__version__ = "0.1.0"

_LATER = {
    "Bus": "siftcast.runtimes.live.client",
    "EventStream": "siftcast.runtimes.live.received",
    "ReceivedEvent": "siftcast.runtimes.live.received",
    "SyncBus": "siftcast.runtimes.live.sync_client",
    "connect": "siftcast.runtimes.live.client",
    "connect_sync": "siftcast.runtimes.live.sync_client",
}


def __getattr__(name: str) -> object:
    if name == "testing":
        return import_module("siftcast.testing")
    if name not in _LATER:
        raise AttributeError(f"module 'siftcast' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, "testing"])


__all__ = [
    "Attribute",
    "Bus",
    "Event",
    "EventStream",
    "Explanation",
    "Filter",
    "FilterLimits",
    "Matcher",
    "ReceivedEvent",
    "Schema",
    "SiftcastError",
    "Subscription",
    "SyncBus",
    "connect",
    "connect_sync",
]
