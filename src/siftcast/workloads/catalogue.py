"""All presets by name, and the one function that generates from them.

To add a preset: write a frozen options dataclass that checks itself and a builder `(options, request) ->
Content` in a module of its own, then give it an entry here. The tests in `tests/unit/workloads` run over
every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from siftcast.model.errors import WorkloadError
from siftcast.workloads import games, location_services, rss, security_alerts, stock_quotes
from siftcast.workloads.integer_grid import GridOptions, build_grid
from siftcast.workloads.kyra import (
    KyraOptions,
    MultimodalOptions,
    RegionalOptions,
    ZipfOptions,
    build_multimodal,
    build_regional,
    build_uniform,
    build_zipf,
)
from siftcast.workloads.lookup_reuse import LookupReuseOptions, build_lookup_reuse
from siftcast.workloads.parameters import require_count
from siftcast.workloads.preset import Preset, Request
from siftcast.workloads.streams import Streams
from siftcast.workloads.workload import Workload

_KYRA = "Kyra, evaluation, section B"
_TABLE = "layering and configurable matching, section 2.2, Table 1"


def _qos(distribution: str) -> GridOptions:
    return GridOptions(
        attributes=10,
        domain_low=1,
        domain_high=128,
        event_distribution=distribution,
        subscription_distribution=distribution,
        hot_spots_least=4,
        hot_spots_most=6,
        delays=True,
    )


def _small_grid(distribution: str, *, domain_high: int) -> GridOptions:
    return GridOptions(
        attributes=5,
        domain_low=0,
        domain_high=domain_high,
        event_distribution=distribution,
        subscription_distribution=distribution,
    )


_PAPERS = (
    Preset(
        "kyra-uniform",
        "Kyra, uniform",
        _KYRA,
        "One integer attribute; every value equally popular and equally frequent.",
        KyraOptions(),
        build_uniform,
    ),
    Preset(
        "kyra-zipf",
        "Kyra, zipf-uniform",
        _KYRA,
        "One integer attribute; popularity min(1, c / rank), every value equally frequent.",
        ZipfOptions(),
        build_zipf,
    ),
    Preset(
        "kyra-multimodal",
        "Kyra, multimodal",
        _KYRA,
        "One integer attribute; popularity and frequency follow the same five Gaussian peaks.",
        MultimodalOptions(),
        build_multimodal,
    ),
    Preset(
        "kyra-regional",
        "Kyra, regional",
        _KYRA,
        "One integer attribute; interest in a server's events falls with the distance to it.",
        RegionalOptions(),
        build_regional,
    ),
    Preset(
        "lookup-reuse",
        "Lookup reuse",
        "lookup reuse, section 3.1",
        "Five attributes in [0, 1]; random sub-intervals sized for a matching density.",
        LookupReuseOptions(),
        build_lookup_reuse,
    ),
    Preset(
        "qos-uniform",
        "QoS overlay, WL1",
        "thesis, section 2.8.1",
        "Ten integer attributes in [1, 128], uniform; delay requirements.",
        _qos("uniform"),
        build_grid,
    ),
    Preset(
        "qos-hotspots",
        "QoS overlay, WL2",
        "thesis, section 2.8.1",
        "Ten integer attributes in [1, 128], 80/20 with 4 to 6 hot spots; delay requirements.",
        _qos("hotspots"),
        build_grid,
    ),
    Preset(
        "clustering-uniform",
        "Clustering, WL1",
        "thesis, section 3.3.2.1",
        "Five integer attributes in [0, 30], uniform; an event matches 5 % of subscriptions.",
        _small_grid("uniform", domain_high=30),
        build_grid,
    ),
    Preset(
        "clustering-hotspots",
        "Clustering, WL2",
        "thesis, section 3.3.2.1",
        "Five integer attributes in [0, 30], five hot spots; an event matches 5 % of subscriptions.",
        _small_grid("hotspots", domain_high=30),
        build_grid,
    ),
    Preset(
        "underlay",
        "Underlay awareness, WL2",
        "thesis, section 4.6.1",
        "Five integer attributes in [0, 10], five hot spots; an event matches 5 % of subscriptions.",
        _small_grid("hotspots", domain_high=10),
        build_grid,
    ),
)

_APPLICATIONS = (
    Preset(
        "games",
        "Online games",
        _TABLE,
        "Actions of players on a map; areas of interest around players.",
        games.GameOptions(),
        games.build_games,
        games.PROFILE,
    ),
    Preset(
        "rss",
        "RSS feeds",
        _TABLE,
        "Articles of many feeds; readers follow feeds, topics and words.",
        rss.RssOptions(),
        rss.build_rss,
        rss.PROFILE,
    ),
    Preset(
        "stock-quotes",
        "Stock quotes",
        _TABLE,
        "Quotes of a few hundred symbols; limits on price and volume.",
        stock_quotes.StockOptions(),
        stock_quotes.build_stock_quotes,
        stock_quotes.PROFILE,
    ),
    Preset(
        "security-alerts",
        "Security alerts",
        _TABLE,
        "Sparse alerts in bursts; sets of signatures, ports and networks.",
        security_alerts.AlertOptions(),
        security_alerts.build_security_alerts,
        security_alerts.PROFILE,
    ),
    Preset(
        "location-services",
        "Location-based services",
        _TABLE,
        "Positions of devices around cities; areas watched by providers.",
        location_services.LocationOptions(),
        location_services.build_location_services,
        location_services.PROFILE,
    ),
)

_PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (*_PAPERS, *_APPLICATIONS)})


def presets() -> Mapping[str, Preset]:
    """All presets by name: the papers' first, then the applications."""
    return _PRESETS


ROWS_MAX = 1_000_000_000
"""More events or subscriptions than any table in memory has."""


def generate(preset: str, *, events: int, subscriptions: int, seed: int, **options: object) -> Workload:
    """Generate a workload; the same arguments always give the same tables."""
    if preset not in _PRESETS:
        raise WorkloadError(f"parameter 'preset' must be one of {', '.join(_PRESETS)}, got {preset!r}")
    chosen = _PRESETS[preset]
    require_count("events", events, most=ROWS_MAX)
    require_count("subscriptions", subscriptions, most=ROWS_MAX)
    configured = chosen.configure(options)
    content = chosen.build(configured, Request(events, subscriptions, Streams(seed)))
    return Workload(
        name=chosen.name,
        schema=content.schema,
        events=content.events,
        subscriptions=content.subscriptions,
        description=f"{chosen.title} ({chosen.paper}). {chosen.description}",
        seed=seed,
        parameters=chosen.parameters_of(configured),
    )
