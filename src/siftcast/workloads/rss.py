"""RSS feeds: readers follow feeds, topics and words (layering paper, Table 1).

An event is one article. Topics, feeds and the words of a title follow Zipf laws (the table's "power law"
clustering): a few feeds write most articles and a few words make most titles. Filters are keywords:

    title LIKE '%solar%'      topic = 'science' AND title LIKE '%lunar%'      feed = 'feed-12'
    topic IN ('sports', 'travel') AND language = 'en'     title LIKE 'breaking%' AND topic = 'space'

Some articles name no author. The words are made of syllables, so a keyword is now and then part of a longer
word, as in any language. The table fixes the profile; vocabulary and mixture are ours. Cost: O(rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import Attribute, Schema
from siftcast.workloads.content_values import Floats
from siftcast.workloads.filter_mixture import FilterKind, draw_distinct, mix_filters
from siftcast.workloads.filter_text import Text, integer_text, join_text, pick, quote_all
from siftcast.workloads.hot_spots import draw_ranks, zipf_weights
from siftcast.workloads.parameters import require_count, require_fraction
from siftcast.workloads.preset import ApplicationProfile, Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

PROFILE = ApplicationProfile(
    expressiveness="keywords",
    publisher_bandwidth="small, irregular",
    latency_ms_max=(10_000.0, 10_000.0),
    subscription_clustering="power law",
    subscribers=(1_000_000, 1_000_000),
    subscribe_frequency="low",
    publishers=(10_000, 10_000),
    events_per_s=(100.0, 100.0),
)

TOPICS = (
    "politics", "sports", "business", "technology", "science", "health", "culture", "travel",
    "music", "film", "food", "climate", "education", "crime", "weather", "space",
)  # fmt: skip
LANGUAGES = ("en", "es", "de", "fr", "zh")
_LEADS = ("breaking", "update", "opinion", "analysis", "interview", "review")
_KNOWN = ("solar", "lunar", "market", "storm", "election", "vaccine", "robot", "bank", "energy", "football")
_HEADS = (
    "bar",
    "cor",
    "del",
    "fen",
    "gal",
    "har",
    "kel",
    "lum",
    "mor",
    "nor",
    "pel",
    "ran",
    "sol",
    "tam",
    "ver",
    "zan",
)
_TAILS = ("a", "eda", "ica", "ion", "ist", "ium", "or", "us")
VOCABULARY_MAX = len(_KNOWN) + len(_HEADS) ** 2 * len(_TAILS)
_TITLE_WORDS = 6
_LENGTH_MAX = 20_000


@dataclass(frozen=True, slots=True)
class RssOptions:
    """Size of the vocabulary and of the crowd."""

    words: int = 1_000
    feeds: int = 10_000
    subscribers: int = 1_000_000
    authored_share: float = 0.7

    def __post_init__(self) -> None:
        require_count("words", self.words, least=16, most=VOCABULARY_MAX)
        require_count("feeds", self.feeds, least=8)
        require_count("subscribers", self.subscribers, least=1)
        require_fraction("authored_share", self.authored_share, zero_allowed=True)


def vocabulary(count: int) -> tuple[str, ...]:
    """The words of titles, the most frequent first."""
    made = ("".join(parts) for parts in product(_HEADS, _HEADS, _TAILS))
    return (*_KNOWN, *made)[:count]


def build_rss(options: RssOptions, request: Request) -> Content:
    """Articles of Zipf feeds and keyword subscriptions."""
    streams = request.streams
    words = vocabulary(options.words)
    rng = streams.generator("events")
    feeds = draw_ranks(request.events, zipf_weights(options.feeds), rng) + 1
    authors = numbered("author", rng.integers(1, 5_000, size=request.events, endpoint=True))
    authored = pa.array(rng.random(request.events) < options.authored_share)
    columns: dict[str, Any] = {
        # A feed keeps to its topic and its language.
        "topic": pick(TOPICS, (feeds - 1) * 7 % len(TOPICS)),
        "feed": numbered("feed", feeds),
        "title": _titles(words, request.events, rng),
        "language": pick(LANGUAGES, np.minimum((feeds - 1) % 11 // 2, len(LANGUAGES) - 1)),
        "author": pc.if_else(authored, authors, pa.scalar(None, pa.string())),
        "length": np.clip(np.rint(np.exp(rng.normal(6.2, 0.7, size=request.events))), 1, _LENGTH_MAX).astype(np.int64),
    }
    schema = _schema()
    readers = _Readers(words, zipf_weights(len(words)), zipf_weights(len(TOPICS)), zipf_weights(options.feeds))
    subscribers = draw_parties(
        "reader", request.subscriptions, parties=options.subscribers, rng=streams.generator("subscribers")
    )
    return Content(
        schema,
        events_table(schema, columns, publishers=columns["feed"]),
        subscriptions_table(
            mix_filters(request.subscriptions, readers.kinds(), streams.generator("subscriptions")),
            subscribers=subscribers,
            delay_ms_max=np.full(request.subscriptions, PROFILE.latency_ms_max[1]),
        ),
    )


def _schema() -> Schema:
    return Schema(
        [
            Attribute("topic", "string", TOPICS),
            Attribute("feed", "string"),
            Attribute("title", "string"),
            Attribute("language", "string", LANGUAGES),
            Attribute("author", "string"),
            Attribute("length", "int", (1, _LENGTH_MAX), 1),
        ],
        name="rss",
    )


def _titles(words: tuple[str, ...], count: int, rng: np.random.Generator) -> Text:
    weights = zipf_weights(len(words))
    source = pa.array(words, type=pa.string())
    drawn = draw_ranks(count * _TITLE_WORDS, weights, rng).reshape(count, _TITLE_WORDS)
    body = pc.binary_join_element_wise(*(pick(source, drawn[:, place]) for place in range(_TITLE_WORDS)), " ")
    leads = pick((*(f"{lead} " for lead in _LEADS), ""), np.minimum(rng.integers(0, 30, size=count), len(_LEADS)))
    return join_text(leads, body)


@dataclass(frozen=True, slots=True)
class _Readers:
    """The kinds of filter that readers write."""

    words: tuple[str, ...]
    word_weights: Floats
    topic_weights: Floats
    feed_weights: Floats

    def kinds(self) -> tuple[FilterKind, ...]:
        return (
            FilterKind(0.30, self._feed),
            FilterKind(0.25, self._keyword),
            FilterKind(0.20, self._keyword_in_topic),
            FilterKind(0.10, self._topics),
            FilterKind(0.08, self._either_keyword),
            FilterKind(0.04, self._lead),
            FilterKind(0.03, self._long_signed),
        )

    def _word(self, rows: int, rng: np.random.Generator) -> Text:
        return pick(self.words, draw_ranks(rows, self.word_weights, rng))

    def _topic(self, rows: int, rng: np.random.Generator) -> Text:
        return pick(quote_all(TOPICS), draw_ranks(rows, self.topic_weights, rng))

    def _feed(self, rows: int, rng: np.random.Generator) -> Text:
        return join_text("feed = 'feed-", integer_text(draw_ranks(rows, self.feed_weights, rng) + 1), "'")

    def _keyword(self, rows: int, rng: np.random.Generator) -> Text:
        return join_text("title LIKE '%", self._word(rows, rng), "%'")

    def _keyword_in_topic(self, rows: int, rng: np.random.Generator) -> Text:
        return join_text("topic = ", self._topic(rows, rng), " AND ", self._keyword(rows, rng))

    def _topics(self, rows: int, rng: np.random.Generator) -> Text:
        members = draw_distinct(rows, 2, weights=self.topic_weights, rng=rng)
        topics = [pick(quote_all(TOPICS), members[:, place]) for place in range(2)]
        language = pick(quote_all(LANGUAGES), rng.integers(0, len(LANGUAGES), size=rows))
        return join_text("topic IN (", topics[0], ", ", topics[1], ") AND language = ", language)

    def _either_keyword(self, rows: int, rng: np.random.Generator) -> Text:
        first, second = self._keyword(rows, rng), self._keyword(rows, rng)
        return join_text("(", first, " OR ", second, ") AND NOT language = 'zh'")

    def _lead(self, rows: int, rng: np.random.Generator) -> Text:
        lead = pick(_LEADS, rng.integers(0, len(_LEADS), size=rows))
        return join_text("title LIKE '", lead, "%' AND topic = ", self._topic(rows, rng))

    def _long_signed(self, rows: int, rng: np.random.Generator) -> Text:
        length = integer_text(rng.integers(5, 20, size=rows) * 100)
        return join_text("author IS NOT NULL AND length >= ", length, " AND topic = ", self._topic(rows, rng))
