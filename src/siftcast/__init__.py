"""Siftcast: content-based publish/subscribe. Every event reaches exactly the subscribers it satisfies.

import siftcast as sc

m = sc.Matcher()
m.add("sub-1", sc.Filter.parse("symbol = 'IBM' AND price < 95"))
m.match({"symbol": "IBM", "price": 88})        # ['sub-1']

Everything is imported when it is first used: matching alone does not load the network, and the `siftcast` command has
begun, and can be interrupted in order, before anything that takes long is loaded. The class of every code
of errors can be imported from here; `docs/errors.md` lists them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siftcast.matching import Matcher
    from siftcast.model import (
        ArgumentError,
        Attribute,
        ClusteringError,
        DataError,
        EngineError,
        Event,
        EventError,
        Explanation,
        Filter,
        FilterError,
        FilterLimitError,
        FilterLimits,
        FilterSyntaxError,
        FilterTypeError,
        Schema,
        SchemaError,
        SiftcastError,
        Subscription,
        SubscriptionError,
        TopologyFileError,
        UnderlayError,
        WorkloadError,
    )
    from siftcast.model.toml_files import TomlFileError as TomlFileError
    from siftcast.overlays.durability.contract import QueuePolicy as QueuePolicy
    from siftcast.overlays.durability.errors import NotDurableError as NotDurableError
    from siftcast.overlays.durability.errors import RestoreError as RestoreError
    from siftcast.overlays.reuse import ReuseUnsafeError as ReuseUnsafeError
    from siftcast.runtimes.live.client.bus import Bus as Bus
    from siftcast.runtimes.live.client.bus import connect as connect
    from siftcast.runtimes.live.client.received import EventStream as EventStream
    from siftcast.runtimes.live.client.received import ReceivedEvent as ReceivedEvent
    from siftcast.runtimes.live.client.sync_bus import SyncBus as SyncBus
    from siftcast.runtimes.live.client.sync_bus import connect_sync as connect_sync
    from siftcast.runtimes.live.errors import ConfigurationError as ConfigurationError
    from siftcast.runtimes.live.errors import ConnectionLost as ConnectionLost
    from siftcast.runtimes.live.errors import DamagedFrame as DamagedFrame
    from siftcast.runtimes.live.errors import DurabilityUnavailable as DurabilityUnavailable
    from siftcast.runtimes.live.errors import Forbidden as Forbidden
    from siftcast.runtimes.live.errors import FrameError as FrameError
    from siftcast.runtimes.live.errors import LiveError as LiveError
    from siftcast.runtimes.live.errors import NetworkMismatch as NetworkMismatch
    from siftcast.runtimes.live.errors import Refused as Refused
    from siftcast.runtimes.live.errors import SlowConsumer as SlowConsumer
    from siftcast.runtimes.live.errors import StoreError as StoreError
    from siftcast.runtimes.live.errors import Superseded as Superseded
    from siftcast.runtimes.live.errors import TokenExpired as TokenExpired
    from siftcast.runtimes.live.errors import TooManyFailedLogins as TooManyFailedLogins
    from siftcast.runtimes.live.errors import Unauthorised as Unauthorised
    from siftcast.runtimes.live.errors import UntrustedNode as UntrustedNode
    from siftcast.runtimes.live.errors import VersionError as VersionError
    from siftcast.runtimes.sim.errors import ScenarioError as ScenarioError
    from siftcast.runtimes.sim.errors import SimulationError as SimulationError
    from siftcast.schemes.contract import SchemeError as SchemeError
    from siftcast.security.errors import KeyRingError as KeyRingError
    from siftcast.security.errors import SealError as SealError
    from siftcast.security.errors import UnopenedError as UnopenedError
    from siftcast.security.ring import KeyRing as KeyRing
    from siftcast.spark.errors import SparkError as SparkError

__version__ = "0.1.0"

_LATER = {
    name: module
    for module, names in {
        "siftcast.matching": ("Matcher",),
        "siftcast.model": (
            "ArgumentError", "Attribute", "ClusteringError", "DataError", "EngineError", "Event", "EventError",
            "Explanation", "Filter", "FilterError", "FilterLimitError", "FilterLimits", "FilterSyntaxError",
            "FilterTypeError", "Schema", "SchemaError", "SiftcastError", "Subscription", "SubscriptionError",
            "TopologyFileError", "UnderlayError", "WorkloadError",
        ),
        "siftcast.model.toml_files": ("TomlFileError",),
        "siftcast.overlays.durability.contract": ("QueuePolicy",),
        "siftcast.overlays.durability.errors": ("NotDurableError", "RestoreError"),
        "siftcast.overlays.reuse": ("ReuseUnsafeError",),
        "siftcast.schemes.contract": ("SchemeError",),
        "siftcast.runtimes.live.client.bounds": ("Bound",),
        "siftcast.runtimes.live.client.bus": ("Bus", "connect"),
        "siftcast.runtimes.live.errors": (
            "ConfigurationError", "ConnectionLost", "DamagedFrame", "DurabilityUnavailable", "Forbidden", "FrameError",
            "LiveError", "NetworkMismatch", "Refused", "SlowConsumer", "StoreError", "Superseded", "TokenExpired",
            "TooManyFailedLogins", "Unauthorised", "UntrustedNode", "VersionError",
        ),
        "siftcast.runtimes.live.client.received": ("EventStream", "ReceivedEvent"),
        "siftcast.runtimes.live.client.sync_bus": ("SyncBus", "connect_sync"),
        "siftcast.runtimes.sim.errors": ("ScenarioError", "SimulationError"),
        "siftcast.security.errors": ("KeyRingError", "SealError", "UnopenedError"),
        "siftcast.security.ring": ("KeyRing",),
        "siftcast.spark.errors": ("SparkError",),
    }.items()
    for name in names
}  # fmt: skip

_ROOMS = ("matching", "model", "testing")


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"siftcast.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'siftcast' has no attribute '{name}'")
    found: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = found  # the next time it is found without asking here
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, *_ROOMS])


# SparkError can be imported as well, but not with a star: it takes the packages of siftcast[spark].
__all__ = [
    "ArgumentError",
    "Attribute",
    "Bound",
    "Bus",
    "ClusteringError",
    "ConfigurationError",
    "ConnectionLost",
    "DamagedFrame",
    "DataError",
    "DurabilityUnavailable",
    "EngineError",
    "Event",
    "EventError",
    "EventStream",
    "Explanation",
    "Filter",
    "FilterError",
    "FilterLimitError",
    "FilterLimits",
    "FilterSyntaxError",
    "FilterTypeError",
    "Forbidden",
    "FrameError",
    "KeyRing",
    "KeyRingError",
    "LiveError",
    "Matcher",
    "NetworkMismatch",
    "NotDurableError",
    "QueuePolicy",
    "ReceivedEvent",
    "Refused",
    "RestoreError",
    "ReuseUnsafeError",
    "ScenarioError",
    "Schema",
    "SchemaError",
    "SchemeError",
    "SealError",
    "SiftcastError",
    "SimulationError",
    "SlowConsumer",
    "StoreError",
    "Subscription",
    "SubscriptionError",
    "Superseded",
    "SyncBus",
    "TokenExpired",
    "TomlFileError",
    "TooManyFailedLogins",
    "TopologyFileError",
    "Unauthorised",
    "UnderlayError",
    "UnopenedError",
    "UntrustedNode",
    "VersionError",
    "WorkloadError",
    "connect",
    "connect_sync",
]
