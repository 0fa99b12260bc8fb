"""Row H1: digests keep covering and matching, whatever filters say; digests of whole predicates do not.

Filters are drawn from all that the language can say, and each is compared with narrower ones: itself with another
condition, or with a range cut down. Events have values outside the domain, of another kind, NULL and missing. A pair
counts where `Filter.covers` says yes, an event where it is matched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.space.digests import DIGEST_KINDS, InterestDigests, is_within
from siftcast.space.digests.parts import hash_of_text

Found = dict[str, Any]
_WORDS = ("alpha", "beta", "gamma", "delta", "omega")
SCHEMA = Schema(
    [
        Attribute("x", "int", (0, 99)),
        Attribute("y", "float", (0.0, 1.0)),
        Attribute("word", "string", _WORDS),
        Attribute("flag", "bool"),
    ],
    name="digests",
)
_BITS = 48
_EVENTS_EACH = 8
_DEPTH_MAX = 2


def measure_covering(pairs: int, seed: int) -> Found:
    """For each kind of digest: how many pairs and events there were, and how many broke the law."""
    rng = np.random.default_rng([seed, 1])
    covered = [pair for pair in (_draw_pair(rng) for _ in range(pairs)) if pair[0].covers(pair[1])]
    events = [_draw_event(f"e{number}", rng) for number in range(max(pairs // 10, 20))]
    matched = [
        (filter_, events[number])
        for pair in covered
        for filter_ in pair
        for number in rng.integers(0, len(events), size=_EVENTS_EACH).tolist()
        if filter_.matches(events[number])
    ]
    found: Found = {"pairs": len(covered), "events": len(matched)}
    for kind in DIGEST_KINDS:
        digests = InterestDigests.of(SCHEMA, bits=_BITS, kind=kind)
        found[kind] = sum(
            not is_within(digests.of_filter(narrow), digests.of_filter(wide)) for wide, narrow in covered
        ) + sum(not is_within(digests.of_event(event), digests.of_filter(filter_)) for filter_, event in matched)
    found["predicates"] = sum(
        not is_within(predicate_digest(narrow), predicate_digest(wide)) for wide, narrow in covered
    )
    return found


def predicate_digest(filter_: Filter) -> int:
    """The variant that fails: what a filter says about an attribute is hashed as a whole; bits are not its values'."""
    width = _BITS // len(SCHEMA.attributes)
    bits = 0
    for conjunction in filter_.alternatives:
        for place, attribute in enumerate(SCHEMA.attributes):
            said = conjunction.constraints.get((attribute.name,))
            own = (1 << width) - 1 if said is None else 1 << hash_of_text(repr(said)) % width
            bits |= own << place * width
    return bits


def _draw_pair(rng: np.random.Generator) -> tuple[Filter, Filter]:
    """A filter, and one that is likely to be narrower."""
    wide = _draw_filter(_DEPTH_MAX, rng)
    way = int(rng.integers(0, 3))
    if way == 0:
        return Filter.parse(wide), Filter.parse(f"({wide}) AND ({_draw_filter(1, rng)})")
    if way == 1:
        low, high = sorted(rng.integers(-20, 120, size=2).tolist())
        first, last = sorted(rng.integers(low, high + 1, size=2).tolist())
        return Filter.parse(f"x BETWEEN {low} AND {high}"), Filter.parse(f"x BETWEEN {first} AND {last}")
    return Filter.parse(f"({wide}) OR ({_draw_filter(1, rng)})"), Filter.parse(wide)


def _draw_filter(depth: int, rng: np.random.Generator) -> str:
    if depth and rng.random() < 0.6:
        one, other = _draw_filter(depth - 1, rng), _draw_filter(depth - 1, rng)
        return (f"({one}) AND ({other})", f"({one}) OR ({other})", f"NOT ({one})")[int(rng.integers(0, 3))]
    low, high = sorted(rng.integers(-20, 120, size=2).tolist())
    word, second = rng.choice(_WORDS, size=2).tolist()
    texts = (
        f"x < {high}",
        f"x > {low}",
        f"x BETWEEN {low} AND {high}",
        f"x IN ({low}, {high})",
        f"x != {low}",
        f"y <= {high / 100}",
        f"y >= {low / 100}",
        f"word = '{word}'",
        f"word IN ('{word}', '{second}', 'unlisted')",
        f"word LIKE '{word[:2]}%'",
        f"word LIKE '%{second[2:]}'",
        f"word NOT LIKE '{word[:1]}%'",
        "flag = TRUE",
        "x IS NULL",
        "word IS NOT NULL",
    )
    return texts[int(rng.integers(0, len(texts)))]


def _draw_event(id: str, rng: np.random.Generator) -> Event:
    drawn = {
        "x": (int(rng.integers(-20, 120)), float(rng.uniform(0, 99)), "seven"),
        "y": (float(rng.uniform(-0.2, 1.2)), int(rng.integers(0, 2)), True),
        "word": (str(rng.choice(_WORDS)), "unlisted", 7),
        "flag": (bool(rng.integers(0, 2)), "yes", 0),
    }
    values: dict[str, Any] = {}
    for name, choices in drawn.items():
        way = rng.random()
        if way < 0.1:
            continue
        values[name] = None if way < 0.2 else choices[0] if way < 0.8 else choices[1 + int(rng.integers(0, 2))]
    return Event(values, id=id)
