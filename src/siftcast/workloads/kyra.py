"""Kyra's four data models as workloads (Kyra, evaluation, B).

The content space is one integer attribute, `value`. A subscription stands for all interests of one server and
lists the values it wants, `value IN (3, 17, 251)`; the interest rate is its chance to match a random value.
With more subscriptions than servers, each server holds several and its own interest is their union.

The model arithmetic lives in `content_values.py` and `regional.py`, which experiments use directly with their
own topology. The paper does not say how many values there are (we take 1,000, as the readings of section
K fix it) nor where regional servers stand (we take random points of a square).

Cost: O(subscriptions * values) random numbers, in blocks; 1,000,000 subscriptions at 10 % are
100,000,000 listed values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import (
    DRAWS,
    PEAK_DISTANCES,
    Flags,
    Integers,
    ValueModel,
    draw_peaks,
    multimodal_values,
    uniform_values,
    zipf_values,
)
from siftcast.workloads.filter_text import Text, integer_text, set_text
from siftcast.workloads.parameters import (
    require_choice,
    require_count,
    require_flag,
    require_fraction,
    require_positive,
)
from siftcast.workloads.preset import Content, Request
from siftcast.workloads.regional import plane_distances, regional_model
from siftcast.workloads.tables import events_table, numbered, subscriptions_table

_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class KyraOptions:
    """What all four data models share."""

    servers: int = 500
    values: int = 1_000
    interest_rate: float = 0.1
    draw: str = "independent"

    def __post_init__(self) -> None:
        require_count("servers", self.servers, least=1)
        require_count("values", self.values, least=2)
        require_fraction("interest_rate", self.interest_rate)
        require_choice("draw", self.draw, DRAWS)


@dataclass(frozen=True, slots=True)
class ZipfOptions(KyraOptions):
    """Popularity falls with rank^exponent; `scattered` ranks lie in random order over the values."""

    exponent: float = 1.0
    scattered: bool = True

    def __post_init__(self) -> None:
        KyraOptions.__post_init__(self)
        require_positive("exponent", self.exponent)
        require_flag("scattered", self.scattered)


@dataclass(frozen=True, slots=True)
class MultimodalOptions(KyraOptions):
    """A mixture of Gaussians around random peaks."""

    peaks: int = 5
    peak_distance: str = "neighbours"

    def __post_init__(self) -> None:
        KyraOptions.__post_init__(self)
        require_count("peaks", self.peaks, least=2, most=self.values)
        require_choice("peak_distance", self.peak_distance, PEAK_DISTANCES)


@dataclass(frozen=True, slots=True)
class RegionalOptions(KyraOptions):
    """Match probability falls with distance^exponent."""

    exponent: float = 1.0

    def __post_init__(self) -> None:
        KyraOptions.__post_init__(self)
        require_positive("exponent", self.exponent)


def build_uniform(options: KyraOptions, request: Request) -> Content:
    """Equal popularity, equal volume."""
    return _build(uniform_values(options.values, options.interest_rate), options, request)


def build_zipf(options: ZipfOptions, request: Request) -> Content:
    """Zipf popularity, equal volume."""
    rng = request.streams.generator("kyra-ranks") if options.scattered else None
    model = zipf_values(options.values, options.interest_rate, rng=rng, exponent=options.exponent)
    return _build(model, options, request)


def build_multimodal(options: MultimodalOptions, request: Request) -> Content:
    """Popularity and volume around the same peaks."""
    peaks = draw_peaks(options.values, request.streams.generator("kyra-peaks"), count=options.peaks)
    model = multimodal_values(options.values, options.interest_rate, peaks=peaks, peak_distance=options.peak_distance)
    return _build(model, options, request)


def build_regional(options: RegionalOptions, request: Request) -> Content:
    """Interest in the events of near servers."""
    rng = request.streams.generator("kyra-places")
    distances = plane_distances(options.servers, rng)
    model = regional_model(distances, options.interest_rate, values=options.values, rng=rng, exponent=options.exponent)
    volumes = uniform_values(options.values, options.interest_rate)
    values = volumes.draw_values(request.events, request.streams.generator("events"), draw=options.draw)
    return _content(options, request, values, model.home[values], model.interest_of)


def _build(model: ValueModel, options: KyraOptions, request: Request) -> Content:
    values = model.draw_values(request.events, request.streams.generator("events"), draw=options.draw)
    rng = request.streams.generator("publishers")
    publishers = rng.integers(0, options.servers, size=request.events, dtype=np.int64)

    def interest(servers: Integers, rng: np.random.Generator) -> Flags:
        return model.interest(servers.size, rng)

    return _content(options, request, values, publishers, interest)


def _content(
    options: KyraOptions,
    request: Request,
    values: Integers,
    publishers: Integers,
    interest: Callable[[Integers, np.random.Generator], Flags],
) -> Content:
    schema = Schema([Attribute("value", "int", (0, options.values - 1), 1)], name="kyra")
    servers = np.arange(request.subscriptions, dtype=np.int64) % options.servers
    rng = request.streams.generator("subscriptions")
    literals = integer_text(np.arange(options.values))
    rows = max(1, _BLOCK_CELLS // options.values)
    # A server that wants nothing still subscribes, to a value outside the domain.
    blocks: list[Text] = [
        set_text("value", literals, interest(servers[start : start + rows], rng), empty="value < 0")
        for start in range(0, request.subscriptions, rows)
    ]
    filters = pa.chunked_array(blocks, type=pa.string())
    return Content(
        schema,
        events_table(schema, {"value": values}, publishers=numbered("server", publishers + 1)),
        subscriptions_table(filters, subscribers=numbered("server", servers + 1)),
    )
