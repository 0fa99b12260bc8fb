"""How long this machine matches an event, for the predictions of a plan: the engine timed at a few sizes.

The clock is that of the processor, so that other work on the machine does not count. Events are matched one by one, as
a node of a ring does, and the fastest of several rounds is taken. Where a file has fewer subscriptions than are to be
planned for, they are taken again and again: then an event matches as many more, as it will among more of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from time import process_time
from typing import Any

import pyarrow as pa

from siftcast.matching import Matcher
from siftcast.model import DataError, Filter, Subscription
from siftcast.planning.ring_costs import MatchTimes

STORE_MAX = 100_000
_SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
_EVENTS = 100
_ROUNDS = 5


def calibrate(filters: Sequence[Filter], rows: Sequence[Mapping[str, Any]], expected: int) -> MatchTimes:
    """match(store) for events like these and subscriptions like these; beyond what is timed, lines go on."""
    most = min(STORE_MAX, max(len(filters), expected))
    sizes = sorted({max(1, round(share * most)) for share in _SHARES})
    events = list(rows[:: max(1, len(rows) // _EVENTS)])[:_EVENTS] or [{}]
    numbered = enumerate(cycle(filters))
    matcher = Matcher()
    times_ms = []
    for size in sizes:
        matcher.add_many(
            Subscription(f"s{number}", filter_) for number, filter_ in islice(numbered, size - len(matcher))
        )
        matcher.match_batch(pa.table({"none": [0]}))  # waits for kernels that are being compiled; single events do not
        times_ms.append(min(_round_ms(matcher, events) for _ in range(_ROUNDS)))
    return MatchTimes(tuple(sizes), tuple(times_ms))


def _round_ms(matcher: Matcher, events: Sequence[Mapping[str, Any]]) -> float:
    start = process_time()
    for event in events:
        matcher.match(event)
    return (process_time() - start) * 1_000 / len(events)


def given_times(text: str) -> MatchTimes:
    """Times that somebody has measured elsewhere, as in `1000:0.02,100000:0.9`: subscriptions and milliseconds."""
    try:
        pairs = [part.split(":") for part in text.split(",")]
        return MatchTimes(tuple(int(size) for size, _ in pairs), tuple(float(time) for _, time in pairs))
    except ValueError as error:
        raise DataError(
            f"--match-ms is a list as in 1000:0.02,100000:0.9, subscriptions and ms, not '{text}': {error}"
        ) from None
