"""What Siftcast talks about: schemas, events, filters, subscriptions, and the errors around them.

The lowest room: it knows no other. Read `values` first (what compares with what), then `expression` (the
tree and its meaning), `sql` (the language), `normal_form` and `algebra` (what filters imply about each other).
"""

from siftcast.model.columns import Columns
from siftcast.model.errors import (
    ArgumentError,
    ClusteringError,
    DataError,
    EngineError,
    EventError,
    FilterError,
    FilterLimitError,
    FilterSyntaxError,
    FilterTypeError,
    SchemaError,
    SiftcastError,
    SubscriptionError,
    TopologyFileError,
    UnderlayError,
    WorkloadError,
)
from siftcast.model.event import Event
from siftcast.model.explanation import Explanation
from siftcast.model.filter import Filter
from siftcast.model.limits import FilterLimits
from siftcast.model.schema import Attribute, Schema
from siftcast.model.subscription import Subscription

__all__ = [
    "ArgumentError",
    "Attribute",
    "ClusteringError",
    "Columns",
    "DataError",
    "EngineError",
    "Event",
    "EventError",
    "Explanation",
    "Filter",
    "FilterError",
    "FilterLimitError",
    "FilterLimits",
    "FilterSyntaxError",
    "FilterTypeError",
    "Schema",
    "SchemaError",
    "SiftcastError",
    "Subscription",
    "SubscriptionError",
    "TopologyFileError",
    "UnderlayError",
    "WorkloadError",
]
