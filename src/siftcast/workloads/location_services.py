"""Location-based services: people report where they are, providers watch areas (layering paper, Table 1).

The paper notes (section 2.2) that devices publish their position and content providers subscribe to areas,
not the other way round; so an event is one device's report and a subscription is a box on the map. People
live in and around cities (the table's "multimodal" clustering), and so do the areas watched.

    lat BETWEEN 48.1031 AND 48.1642 AND lon BETWEEN 11.5210 AND 11.6044 AND category = 'food'
    lat BETWEEN ... AND lon BETWEEN ... AND reported_at >= TIMESTAMP '2024-01-31 18:00:00'

Coordinates have five decimals (about a metre). Boxes do not cross the date line. The table fixes the profile;
cities, categories and mixture are ours. Cost: O(rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import Floats
from siftcast.workloads.filter_mixture import FilterKind, draw_distinct, mix_filters
from siftcast.workloads.filter_text import Text, between_text, decimal_text, join_text, pick, quote_all
from siftcast.workloads.hot_spots import draw_ranks, zipf_weights
from siftcast.workloads.parameters import require_count, require_fraction, require_positive
from siftcast.workloads.preset import ApplicationProfile, Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

PROFILE = ApplicationProfile(
    expressiveness="spatial queries",
    publisher_bandwidth="1 kbps",
    latency_ms_max=(100.0, 1_000.0),
    subscription_clustering="multimodal",
    subscribers=(1_000_000, 1_000_000),
    subscribe_frequency="low",
    publishers=(1_000_000, 1_000_000),
    events_per_s=(0.1, 1.0),
)

CITIES = np.array(
    [
        (35.68, 139.69), (28.61, 77.21), (31.23, 121.47), (-23.55, -46.63), (19.43, -99.13), (30.04, 31.24),
        (40.71, -74.01), (51.51, -0.13), (6.52, 3.38), (48.14, 11.58), (-33.87, 151.21), (34.05, -118.24),
    ]
)  # fmt: skip
CATEGORIES = ("food", "transit", "shopping", "fuel", "parking", "health", "culture", "sports")
_DECIMALS = 5
_START = datetime(2024, 1, 31, tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LocationOptions:
    """How people and areas lie around cities."""

    cities: int = 8
    city_share: float = 0.9
    city_radius_degrees: float = 0.15
    area_degrees: float = 0.05
    users: int = 1_000_000
    subscribers: int = 1_000_000

    def __post_init__(self) -> None:
        require_count("cities", self.cities, least=1, most=len(CITIES))
        require_fraction("city_share", self.city_share, zero_allowed=True)
        require_positive("city_radius_degrees", self.city_radius_degrees)
        require_positive("area_degrees", self.area_degrees)
        require_count("users", self.users, least=1)
        require_count("subscribers", self.subscribers, least=1)


def build_location_services(options: LocationOptions, request: Request) -> Content:
    """Reports of a day, and areas watched by providers."""
    streams = request.streams
    rng = streams.generator("events")
    where = _draw_places(options, request.events, rng)
    users = numbered("user", rng.integers(1, options.users, size=request.events, endpoint=True))
    # Reports come in the order of their time, as a log has them.
    moments = np.sort(rng.integers(0, _DAY // timedelta(milliseconds=1), size=request.events))
    columns: dict[str, Any] = {
        "user_id": users,
        "lat": where[:, 0],
        "lon": where[:, 1],
        "category": pick(CATEGORIES, draw_ranks(request.events, zipf_weights(len(CATEGORIES)), rng)),
        "reported_at": np.datetime64(_START.replace(tzinfo=None), "us") + moments.astype("timedelta64[ms]"),
    }
    schema = Schema(
        [
            Attribute("user_id", "string"),
            Attribute("lat", "float", (-90.0, 90.0), 10.0**-_DECIMALS),
            Attribute("lon", "float", (-180.0, 180.0), 10.0**-_DECIMALS),
            Attribute("category", "string", CATEGORIES),
            Attribute("reported_at", "timestamp", (_START, _START + _DAY)),
        ],
        name="location-services",
    )
    filters = mix_filters(request.subscriptions, _Providers(options).kinds(), streams.generator("subscriptions"))
    subscribers = draw_parties(
        "provider", request.subscriptions, parties=options.subscribers, rng=streams.generator("subscribers")
    )
    delays = np.rint(streams.generator("delays").uniform(*PROFILE.latency_ms_max, size=request.subscriptions))
    return Content(
        schema,
        events_table(schema, columns, publishers=users),
        subscriptions_table(filters, subscribers=subscribers, delay_ms_max=delays),
    )


def _clip(places: Floats) -> Floats:
    clipped: Floats = np.clip(places, (-90.0, -180.0), (90.0, 180.0)).round(_DECIMALS)
    return clipped


def _draw_places(options: LocationOptions, count: int, rng: np.random.Generator) -> Floats:
    city = draw_ranks(count, zipf_weights(options.cities), rng)
    near = CITIES[city] + rng.normal(0.0, options.city_radius_degrees, size=(count, 2))
    far = rng.uniform((-60.0, -180.0), (70.0, 180.0), size=(count, 2))
    return _clip(np.where((rng.random(count) < options.city_share)[:, None], near, far))


@dataclass(frozen=True, slots=True)
class _Providers:
    """The kinds of filter that providers write."""

    options: LocationOptions

    def kinds(self) -> tuple[FilterKind, ...]:
        return (
            FilterKind(0.35, self._area),
            FilterKind(0.35, self._category_in_area),
            FilterKind(0.15, self._categories_in_area),
            FilterKind(0.15, self._area_from_hour),
        )

    def _area(self, rows: int, rng: np.random.Generator) -> Text:
        centre = _draw_places(self.options, rows, rng)
        reach = self.options.area_degrees * rng.uniform(0.2, 1.8, size=(rows, 2)) / 2.0
        low, high = _clip(centre - reach), _clip(centre + reach)
        sides = [
            between_text(name, decimal_text(low[:, axis], _DECIMALS), decimal_text(high[:, axis], _DECIMALS))
            for axis, name in enumerate(("lat", "lon"))
        ]
        return join_text(sides[0], " AND ", sides[1])

    def _category_in_area(self, rows: int, rng: np.random.Generator) -> Text:
        category = pick(quote_all(CATEGORIES), draw_ranks(rows, zipf_weights(len(CATEGORIES)), rng))
        return join_text(self._area(rows, rng), " AND category = ", category)

    def _categories_in_area(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 2, weights=zipf_weights(len(CATEGORIES)), rng=rng)
        first, second = (pick(quote_all(CATEGORIES), members[:, place]) for place in range(2))
        return join_text(self._area(rows, rng), " AND category IN (", first, ", ", second, ")")

    def _area_from_hour(self, rows: int, rng: np.random.Generator) -> Text:
        hours = [f"TIMESTAMP '{_START + timedelta(hours=hour):%Y-%m-%d %H:%M:%S}'" for hour in range(24)]
        return join_text(self._area(rows, rng), " AND reported_at >= ", pick(hours, rng.integers(0, 24, size=rows)))
