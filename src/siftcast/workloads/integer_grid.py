"""The thesis' workloads WL1 and WL2 over small integer domains (sections 2.8.1, 3.3.2.1 and 4.6.1).

    chapter          attributes   domain      hot spots   an event matches
    2 QoS            up to 10     [1, 128]    4 to 6      (not said; 5 % here)
    3 clustering     up to 5      [0, 30]     5           5 % of subscriptions
    4 underlay       up to 5      [0, 10]     5           5 % of subscriptions

WL1 is uniform, WL2 has hot spots (`hot_spots.py`); events and subscriptions may each follow either, as in
the comparison of section 3.3.2.3 (uniform subscriptions, skewed events). Both use the same hot spots
unless the events' move: anywhere, or with `hot_spot_sets` among sets around which interests lie too
(`hot_spot_sets.py`). A subscription is a box; its mean width is found so that an event matches the asked
share (`match_rates.py`) and single widths vary, so that coarse interests cover fine ones, which chapter 2 needs.

Chapter 2 gives every subscriber a delay requirement without saying which; `delay_ms_low` to `delay_ms_high`
is drawn uniformly. Cost: O((events + subscriptions) * attributes), and half a second of calibration for WL2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.workloads.boxes import IntegerDomain, draw_boxes
from siftcast.workloads.content_values import Integers
from siftcast.workloads.filter_text import all_of, between_text, integer_text
from siftcast.workloads.hot_spot_sets import HotSpotSets, draw_hot_spot_sets
from siftcast.workloads.hot_spots import HotSpots, SpotPoints, moving_points
from siftcast.workloads.match_rates import PILOT_SIZE, calibrate_length, uniform_length
from siftcast.workloads.parameters import (
    require_choice,
    require_count,
    require_flag,
    require_fraction,
    require_integer,
    require_ordered,
    require_positive,
)
from siftcast.workloads.preset import Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

DISTRIBUTIONS = ("uniform", "hotspots")


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """Domain, distributions and hot spots of one chapter."""

    attributes: int
    domain_low: int
    domain_high: int
    event_distribution: str
    subscription_distribution: str
    match_rate: float = 0.05
    spread: float = 1.0
    hot_spots_least: int = 5
    hot_spots_most: int = 5
    hot_share: float = 0.8
    hot_extent: float = 0.2
    zipf_exponent: float = 1.0
    move_every: int = 0
    hot_spot_sets: int = 1
    publishers: int = 10
    delays: bool = False
    delay_ms_low: float = 400.0
    delay_ms_high: float = 4_000.0

    def __post_init__(self) -> None:
        require_count("attributes", self.attributes, least=1, most=64)
        require_integer("domain_low", self.domain_low)
        require_integer("domain_high", self.domain_high)
        require_ordered(("domain_low", "domain_high"), self.domain_low, self.domain_high)
        require_choice("event_distribution", self.event_distribution, DISTRIBUTIONS)
        require_choice("subscription_distribution", self.subscription_distribution, DISTRIBUTIONS)
        require_fraction("match_rate", self.match_rate)
        require_fraction("spread", self.spread, zero_allowed=True)
        require_count("hot_spots_least", self.hot_spots_least, least=1)
        require_count("hot_spots_most", self.hot_spots_most, least=1)
        require_ordered(("hot_spots_least", "hot_spots_most"), self.hot_spots_least, self.hot_spots_most)
        require_fraction("hot_share", self.hot_share, zero_allowed=True)
        require_fraction("hot_extent", self.hot_extent)
        require_positive("zipf_exponent", self.zipf_exponent)
        require_count("move_every", self.move_every)
        require_count("hot_spot_sets", self.hot_spot_sets, least=1, most=64)
        require_count("publishers", self.publishers, least=1)
        require_flag("delays", self.delays)
        require_positive("delay_ms_low", self.delay_ms_low)
        require_positive("delay_ms_high", self.delay_ms_high)
        require_ordered(("delay_ms_low", "delay_ms_high"), self.delay_ms_low, self.delay_ms_high)

    @property
    def domain(self) -> IntegerDomain:
        """The space of the events."""
        return IntegerDomain(self.domain_low, self.domain_high, self.attributes)


def build_grid(options: GridOptions, request: Request) -> Content:
    """Integer points and boxes, uniform or around hot spots."""
    names = [f"a{number}" for number in range(1, options.attributes + 1)]
    bounds = (options.domain_low, options.domain_high)
    schema = Schema([Attribute(name, "int", bounds, 1) for name in names], name="integer-grid")
    streams = request.streams
    spots = _hot_spot_sets(options, request)
    events = _draw_events(options, request, spots)
    centres = _draw_centres(options, request, spots)
    draws = draw_boxes(
        options.domain,
        request.subscriptions,
        rng=streams.generator("subscriptions"),
        spread=options.spread,
        centres=None if centres is None else centres.points,
    )
    boxes = draws.boxes(_mean_length(options, request, spots))
    fragments = [
        between_text(name, integer_text(boxes.low[:, axis]), integer_text(boxes.high[:, axis]))
        for axis, name in enumerate(names)
    ]
    delays = None
    if options.delays:
        span = (options.delay_ms_low, options.delay_ms_high)
        delays = np.rint(streams.generator("delays").uniform(*span, size=request.subscriptions))
    publishers = draw_parties(
        "publisher", request.events, parties=options.publishers, rng=streams.generator("publishers")
    )
    return Content(
        schema,
        events_table(schema, {name: events[:, axis] for axis, name in enumerate(names)}, publishers=publishers),
        subscriptions_table(
            all_of(fragments),
            subscribers=numbered("peer", np.arange(1, request.subscriptions + 1)),
            delay_ms_max=delays,
            hot_spots=None if centres is None else centres.spots,
        ),
    )


def _hot_spot_sets(options: GridOptions, request: Request) -> HotSpotSets:
    rng = request.streams.generator("hot-spots")
    count = int(rng.integers(options.hot_spots_least, options.hot_spots_most, endpoint=True))
    return draw_hot_spot_sets(
        options.domain,
        options.hot_spot_sets,
        count,
        rng=rng,
        share=options.hot_share,
        extent=options.hot_extent,
        exponent=options.zipf_exponent,
    )


def _draw_events(options: GridOptions, request: Request, spots: HotSpotSets) -> Integers:
    if options.event_distribution == "uniform":
        return options.domain.uniform_points(request.events, request.streams.generator("events"))
    first, streams = spots.sets[0], request.streams
    if not options.move_every:
        return first.draw(request.events, streams.generator("events")).points
    if options.hot_spot_sets > 1:
        return spots.draw_moving(request.events, move_every=options.move_every, streams=streams, name="events").points
    return moving_points(first, request.events, move_every=options.move_every, streams=streams, name="events").points


def _draw_centres(options: GridOptions, request: Request, spots: HotSpotSets) -> SpotPoints | None:
    if options.subscription_distribution == "uniform":
        return None
    return _everywhere(spots).draw(request.subscriptions, request.streams.generator("centres"))


def _everywhere(spots: HotSpotSets) -> HotSpots | HotSpotSets:
    """One set draws for itself, as it did before there could be several: seeds keep their subscriptions."""
    return spots.sets[0] if len(spots.sets) == 1 else spots


def _mean_length(options: GridOptions, request: Request, spots: HotSpotSets) -> float:
    """The mean box length, by formula for uniform boxes and events, else by a pilot."""
    domain = options.domain
    if request.subscriptions == 0:
        return 1.0
    if options.event_distribution == options.subscription_distribution == "uniform":
        mean = uniform_length(options.match_rate, options.attributes)
        # The formula holds while no width is raised to its least, one value.
        if domain.size * (mean - options.spread * min(mean, 1.0 - mean)) >= 1.0:
            return mean
    rng = request.streams.generator("pilot")
    skewed_events = options.event_distribution == "hotspots"
    visited = _everywhere(spots) if options.move_every else spots.sets[0]
    points = visited.draw(PILOT_SIZE, rng).points if skewed_events else domain.uniform_points(PILOT_SIZE, rng)
    centres = None
    if options.subscription_distribution == "hotspots":
        centres = _everywhere(spots).draw(PILOT_SIZE, rng).points
    pilot = draw_boxes(domain, PILOT_SIZE, rng=rng, spread=options.spread, centres=centres)
    return calibrate_length(pilot, points, match_rate=options.match_rate)
