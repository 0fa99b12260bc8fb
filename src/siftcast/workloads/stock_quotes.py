"""Stock quotes: few symbols get most of the trade, prices walk, filters are ranges (layering paper, Table 1).

An event is one quote. Symbols follow a Zipf law (the table's "power law" clustering); the price of each
symbol is a geometric random walk over its own quotes, rounded to cents; volumes are log-normal round lots;
quotes are evenly spaced at the table's 1,000 per second. Subscriptions name symbols by the same law and put
limits around the symbol's opening price:

    symbol = 'IBM' AND price < 95.00                     symbol = 'IBM' AND price BETWEEN 90.00 AND 95.00
    symbol IN ('IBM', 'SAP') AND volume >= 5000          symbol = 'IBM' AND (price < 90.00 OR price > 110.00)
    NOT symbol = 'IBM' AND price BETWEEN 10.00 AND 12.00  symbol LIKE 'IB%' AND price > 100.00

The mixture of kinds is ours; the table says only "range matches". Cost: O(events log events) for grouping
quotes by symbol; a million events take under a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import Floats, Integers
from siftcast.workloads.filter_mixture import FilterKind, draw_distinct, mix_filters
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
from siftcast.workloads.parameters import require_count, require_positive
from siftcast.workloads.preset import ApplicationProfile, Content, Request
from siftcast.workloads.tables import draw_parties, events_table, subscriptions_table

PROFILE = ApplicationProfile(
    expressiveness="range matches",
    publisher_bandwidth="about 100 Mbps",
    latency_ms_max=(10.0, 10.0),
    subscription_clustering="power law",
    subscribers=(1_000, 1_000),
    subscribe_frequency="medium",
    publishers=(1, 10),
    events_per_s=(1_000.0, 1_000.0),
)

_KNOWN = (
    "IBM",
    "AAPL",
    "MSFT",
    "GOOG",
    "AMZN",
    "NVDA",
    "SAP",
    "TSM",
    "ORCL",
    "INTC",
    "SIE",
    "BMW",
    "TM",
    "KO",
    "T",
)
_CODES = 26**3
_STRIDE = 7_919  # Coprime with 26^3, so that the codes do not repeat.
_PRICE_MAX = 99_999.99
_VOLUME_MAX = 10_000_000
_OPENING = datetime(2024, 1, 31, 9, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StockOptions:
    """Size of the market and of the crowd."""

    symbols: int = 500
    symbol_exponent: float = 1.0
    volatility: float = 0.001
    publishers: int = 10
    subscribers: int = 1_000
    events_per_s: float = 1_000.0

    def __post_init__(self) -> None:
        require_count("symbols", self.symbols, least=8, most=_CODES)
        require_positive("symbol_exponent", self.symbol_exponent)
        require_positive("volatility", self.volatility)
        require_count("publishers", self.publishers, least=1)
        require_count("subscribers", self.subscribers, least=1)
        require_positive("events_per_s", self.events_per_s)


def symbol_names(count: int) -> tuple[str, ...]:
    """Ticker symbols: some that people know, then three-letter codes in scattered order."""
    codes = (number * _STRIDE % _CODES for number in range(1, _CODES))
    spelled = (chr(65 + code // 676) + chr(65 + code // 26 % 26) + chr(65 + code % 26) for code in codes)
    names = [*_KNOWN, *(name for name in spelled if name not in _KNOWN)]
    return tuple(names[:count])


def walk_prices(symbols: Integers, openings: Floats, *, volatility: float, rng: np.random.Generator) -> Floats:
    """Prices in cents precision: per symbol, a geometric random walk from its opening price."""
    order = np.argsort(symbols, kind="stable")
    grouped = symbols[order]
    path = np.cumsum(rng.normal(0.0, volatility, size=symbols.size))
    # One running sum serves all symbols: subtracting its value before a symbol's first quote restarts it.
    first = np.searchsorted(grouped, np.arange(openings.size), side="left")
    before = np.concatenate(([0.0], path))[first]
    prices = np.empty(symbols.size, dtype=np.float64)
    prices[order] = openings[grouped] * np.exp(path - before[grouped])
    cents: Floats = np.clip(prices, 0.01, _PRICE_MAX).round(2)
    return cents


def build_stock_quotes(options: StockOptions, request: Request) -> Content:
    """Quotes of a Zipf market and limit-style subscriptions."""
    streams = request.streams
    names = symbol_names(options.symbols)
    weights = zipf_weights(options.symbols, options.symbol_exponent)
    openings: Floats = np.exp(streams.generator("market").normal(4.0, 0.9, size=options.symbols)).round(2)
    schema = _schema(names)
    rng = streams.generator("events")
    symbols = draw_ranks(request.events, weights, rng)
    lots = np.ceil(np.exp(rng.normal(1.5, 1.3, size=request.events)))
    gap = timedelta(seconds=1.0 / options.events_per_s) / timedelta(microseconds=1)
    start = np.datetime64(_OPENING.replace(tzinfo=None), "us")
    columns = {
        "symbol": pick(names, symbols),
        "price": walk_prices(symbols, openings, volatility=options.volatility, rng=rng),
        "volume": np.minimum(lots * 100, _VOLUME_MAX).astype(np.int64),
        "quoted_at": start + np.rint(np.arange(request.events) * gap).astype("timedelta64[us]"),
    }
    publishers = draw_parties(
        "exchange", request.events, parties=options.publishers, rng=streams.generator("publishers")
    )
    filters = mix_filters(
        request.subscriptions,
        _Investors(quote_all(names), names, weights, openings).kinds(),
        streams.generator("subscriptions"),
    )
    subscribers = draw_parties(
        "investor", request.subscriptions, parties=options.subscribers, rng=streams.generator("subscribers")
    )
    delays = np.full(request.subscriptions, PROFILE.latency_ms_max[1])
    return Content(
        schema,
        events_table(schema, columns, publishers=publishers),
        subscriptions_table(filters, subscribers=subscribers, delay_ms_max=delays),
    )


def _schema(names: tuple[str, ...]) -> Schema:
    return Schema(
        [
            Attribute("symbol", "string", names),
            Attribute("price", "float", (0.01, _PRICE_MAX), 0.01),
            Attribute("volume", "int", (100, _VOLUME_MAX), 100),
            Attribute("quoted_at", "timestamp"),
        ],
        name="stock-quotes",
    )


@dataclass(frozen=True, slots=True)
class _Investors:
    """The kinds of filter that investors write."""

    literals: Text
    names: tuple[str, ...]
    weights: Floats
    openings: Floats

    def kinds(self) -> tuple[FilterKind, ...]:
        return (
            FilterKind(0.28, self._below),
            FilterKind(0.22, self._above),
            FilterKind(0.22, self._band),
            FilterKind(0.10, self._basket),
            FilterKind(0.06, self._outside),
            FilterKind(0.05, self._prefix),
            FilterKind(0.04, self._others_in_band),
            FilterKind(0.03, self._large_elsewhere),
        )

    def _limits(self, rows: int, rng: np.random.Generator) -> tuple[Text, Text, Text]:
        """A symbol's literal, and a limit below and above its opening price."""
        symbols = draw_ranks(rows, self.weights, rng)
        opening = self.openings[symbols]
        low = np.maximum(0.01, opening * (1.0 - rng.uniform(0.0, 0.1, size=rows)))
        high = opening * (1.0 + rng.uniform(0.0, 0.1, size=rows)) + 0.01
        return pick(self.literals, symbols), decimal_text(low, 2), decimal_text(high, 2)

    def _below(self, rows: int, rng: np.random.Generator) -> Text:
        symbol, low, _ = self._limits(rows, rng)
        return join_text("symbol = ", symbol, " AND price < ", low)

    def _above(self, rows: int, rng: np.random.Generator) -> Text:
        symbol, _, high = self._limits(rows, rng)
        return join_text("symbol = ", symbol, " AND price > ", high)

    def _band(self, rows: int, rng: np.random.Generator) -> Text:
        symbol, low, high = self._limits(rows, rng)
        return join_text("symbol = ", symbol, " AND ", between_text("price", low, high))

    def _basket(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 3, weights=self.weights, rng=rng)
        listed = [pick(self.literals, members[:, place]) for place in range(3)]
        volume = integer_text(rng.integers(1, 100, size=rows) * 100)
        return join_text("symbol IN (", listed[0], ", ", listed[1], ", ", listed[2], ") AND volume >= ", volume)

    def _outside(self, rows: int, rng: np.random.Generator) -> Text:
        symbol, low, high = self._limits(rows, rng)
        return join_text("symbol = ", symbol, " AND (price < ", low, " OR price > ", high, ")")

    def _prefix(self, rows: int, rng: np.random.Generator) -> Text:
        symbols = draw_ranks(rows, self.weights, rng)
        heads = pick([name[:2] for name in self.names], symbols)
        price = decimal_text(self.openings[symbols] * rng.uniform(0.9, 1.1, size=rows), 2)
        return join_text("symbol LIKE '", heads, "%' AND price > ", price)

    def _others_in_band(self, rows: int, rng: np.random.Generator) -> Text:
        symbol, low, high = self._limits(rows, rng)
        return join_text("NOT symbol = ", symbol, " AND ", between_text("price", low, high))

    def _large_elsewhere(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 2, weights=self.weights, rng=rng)
        listed = [pick(self.literals, members[:, place]) for place in range(2)]
        volume = integer_text(rng.integers(100, 1_000, size=rows) * 100)
        return join_text("symbol NOT IN (", listed[0], ", ", listed[1], ") AND volume > ", volume)
