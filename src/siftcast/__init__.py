"""Siftcast: content-based publish/subscribe. Every event reaches exactly the subscribers it satisfies.

import siftcast as sc

m = sc.Matcher()
m.add("sub-1", sc.Filter.parse("symbol = 'IBM' AND price < 95"))
m.match({"symbol": "IBM", "price": 88})        # ['sub-1']
"""

from siftcast.matching import Matcher
from siftcast.model import (
    Attribute,
    Event,
    Explanation,
    Filter,
    FilterLimits,
    Schema,
    SiftcastError,
    Subscription,
)

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Event",
    "Explanation",
    "Filter",
    "FilterLimits",
    "Matcher",
    "Schema",
    "SiftcastError",
    "Subscription",
]
