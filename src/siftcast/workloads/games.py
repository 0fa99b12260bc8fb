"""Online games: players crowd a few places and watch what happens around them (layering paper, Table 1).

The world is a square map cut into zones. Crowds gather at a few places (the table's "multimodal" clustering),
players are scattered around them, and an event happens where its player stands. A subscription is a player's
area of interest: a box around the player, sometimes narrowed to kinds of action or to an opponent's level.

    position.x BETWEEN 211.0 AND 251.0 AND position.y BETWEEN 87.5 AND 127.5
    position.x BETWEEN ... AND kind IN ('attack', 'cast')        zone = 'zone-2-7' AND kind = 'chat'

`position` is a nested attribute: a struct column, dotted names in filters. The table fixes the profile;
map, crowds and mixture are ours. Cost: O(events + subscriptions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import Floats
from siftcast.workloads.filter_mixture import FilterKind, mix_filters
from siftcast.workloads.filter_text import (
    Text,
    between_text,
    decimal_text,
    integer_text,
    join_text,
    pick,
    quote_all,
)
from siftcast.workloads.hot_spots import draw_ranks, zipf_weights
from siftcast.workloads.parameters import require_count, require_fraction, require_positive
from siftcast.workloads.preset import ApplicationProfile, Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

PROFILE = ApplicationProfile(
    expressiveness="range matches",
    publisher_bandwidth="30 kbps",
    latency_ms_max=(100.0, 1_000.0),
    subscription_clustering="multimodal",
    subscribers=(100, 1_000),
    subscribe_frequency="high",
    publishers=(100, 1_000),
    events_per_s=(1_000.0, 10_000.0),
)

WORLD_SIZE = 1_000.0
LEVEL_MAX = 60
KINDS = ("move", "attack", "cast", "chat", "trade", "loot")
_KIND_WEIGHTS = np.array([0.62, 0.14, 0.09, 0.08, 0.03, 0.04])


@dataclass(frozen=True, slots=True)
class GameOptions:
    """Size of the map, of the crowds and of what a player sees."""

    crowds: int = 5
    crowd_share: float = 0.8
    crowd_radius: float = 40.0
    sight: float = 25.0
    zones_per_side: int = 8
    players: int = 1_000

    def __post_init__(self) -> None:
        require_count("crowds", self.crowds, least=1)
        require_fraction("crowd_share", self.crowd_share, zero_allowed=True)
        require_positive("crowd_radius", self.crowd_radius)
        require_positive("sight", self.sight)
        require_count("zones_per_side", self.zones_per_side, least=1, most=64)
        require_count("players", self.players, least=1)


def build_games(options: GameOptions, request: Request) -> Content:
    """Actions of crowding players, and areas of interest around players."""
    streams = request.streams
    zones = _zone_names(options)
    schema = _schema(zones)
    places = streams.generator("crowds").uniform(0.1, 0.9, size=(options.crowds, 2)) * WORLD_SIZE
    rng = streams.generator("events")
    where = _draw_places(options, places, request.events, rng)
    kinds = draw_ranks(request.events, _KIND_WEIGHTS, rng)
    players = rng.integers(1, options.players, size=request.events, endpoint=True)
    # A player's level is fixed by the player's number, so that all events of one player agree.
    levels = 1 + (players * 37) % LEVEL_MAX
    columns = {
        "position.x": where[:, 0],
        "position.y": where[:, 1],
        "zone": pick(zones, _zone_indices(options, where)),
        "kind": pick(KINDS, kinds),
        "player": numbered("player", players),
        "level": levels,
    }
    watchers = _Watchers(options, places, zones)
    filters = mix_filters(request.subscriptions, watchers.kinds(), streams.generator("subscriptions"))
    subscribers = draw_parties(
        "player", request.subscriptions, parties=options.players, rng=streams.generator("subscribers")
    )
    delays = np.rint(streams.generator("delays").uniform(*PROFILE.latency_ms_max, size=request.subscriptions))
    return Content(
        schema,
        events_table(schema, columns, publishers=columns["player"]),
        subscriptions_table(filters, subscribers=subscribers, delay_ms_max=delays),
    )


def _schema(zones: tuple[str, ...]) -> Schema:
    return Schema(
        [
            Attribute("position.x", "float", (0.0, WORLD_SIZE), 0.1),
            Attribute("position.y", "float", (0.0, WORLD_SIZE), 0.1),
            Attribute("zone", "string", zones),
            Attribute("kind", "string", KINDS),
            Attribute("player", "string"),
            Attribute("level", "int", (1, LEVEL_MAX), 1),
        ],
        name="games",
    )


def _zone_names(options: GameOptions) -> tuple[str, ...]:
    side = range(options.zones_per_side)
    return tuple(f"zone-{column}-{row}" for column in side for row in side)


def _zone_indices(options: GameOptions, where: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    side = options.zones_per_side
    cells = np.minimum((where / WORLD_SIZE * side).astype(np.int64), side - 1)
    indices: np.ndarray[tuple[int], np.dtype[np.int64]] = cells[:, 0] * side + cells[:, 1]
    return indices


def _draw_places(options: GameOptions, places: Floats, count: int, rng: np.random.Generator) -> Floats:
    crowd = draw_ranks(count, zipf_weights(options.crowds), rng)
    near = places[crowd] + rng.normal(0.0, options.crowd_radius, size=(count, 2))
    far = rng.uniform(0.0, WORLD_SIZE, size=(count, 2))
    crowded = rng.random(count) < options.crowd_share
    return np.round(np.clip(np.where(crowded[:, None], near, far), 0.0, WORLD_SIZE), 1)


@dataclass(frozen=True, slots=True)
class _Watchers:
    """The kinds of filter that players' clients write."""

    options: GameOptions
    places: Floats
    zones: tuple[str, ...]

    def kinds(self) -> tuple[FilterKind, ...]:
        return (
            FilterKind(0.60, self._around),
            FilterKind(0.20, self._fights_around),
            FilterKind(0.10, self._rivals_around),
            FilterKind(0.10, self._zone_chat),
        )

    def _around(self, rows: int, rng: np.random.Generator) -> Text:
        centre = _draw_places(self.options, self.places, rows, rng)
        reach = self.options.sight * rng.uniform(0.5, 1.5, size=(rows, 1))
        low = np.maximum(0.0, centre - reach)
        high = np.minimum(WORLD_SIZE, centre + reach)
        across = between_text("position.x", decimal_text(low[:, 0], 1), decimal_text(high[:, 0], 1))
        along = between_text("position.y", decimal_text(low[:, 1], 1), decimal_text(high[:, 1], 1))
        return join_text(across, " AND ", along)

    def _fights_around(self, rows: int, rng: np.random.Generator) -> Text:
        return join_text(self._around(rows, rng), " AND kind IN ('attack', 'cast')")

    def _rivals_around(self, rows: int, rng: np.random.Generator) -> Text:
        low = rng.integers(1, LEVEL_MAX - 10, size=rows)
        levels = between_text("level", integer_text(low), integer_text(low + 10))
        return join_text(self._around(rows, rng), " AND ", levels, " AND NOT kind = 'chat'")

    def _zone_chat(self, rows: int, rng: np.random.Generator) -> Text:
        centre = _draw_places(self.options, self.places, rows, rng)
        zone = pick(quote_all(self.zones), _zone_indices(self.options, centre))
        kind = pick(quote_all(("chat", "trade")), rng.integers(0, 1, size=rows, endpoint=True))
        return join_text("zone = ", zone, " AND kind = ", kind)
