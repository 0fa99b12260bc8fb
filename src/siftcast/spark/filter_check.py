"""What filters of a table must fit, and what they ask for: checked once per form, not per filter.

Filters come by the million and from few forms (`model.template`), so a check remembers the forms that passed; another
filter of the same form costs one lookup in a set. Along the way it gathers the demands of all forms, which decide
which columns of the events matching needs at all.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from siftcast.model import Columns, Filter, Schema, SubscriptionError
from siftcast.model.columns import Demand, Path, demands_of
from siftcast.model.template import Template


class FilterCheck:
    """A schema that the user gave, the columns that the events have, or neither; travels without what it has seen."""

    __slots__ = ("_columns", "_schema", "_seen", "demands")

    def __init__(self, schema: Schema | None = None, columns: Columns | None = None) -> None:
        self._schema = schema
        self._columns = columns
        self._seen: set[Template] = set()
        self.demands: set[Demand] = set()

    @classmethod
    def of(cls, schema: Schema | None, events: DataFrame | None) -> FilterCheck:
        """A check against a schema and the columns of a table, where there are any."""
        return cls(schema, None if events is None else Columns.of(events))

    def __call__(self, filter_: Filter) -> None:
        """Raises FilterTypeError where a filter does not fit."""
        template = filter_.template
        if template in self._seen:
            return
        if self._schema is not None:
            filter_.check(self._schema)
        found = tuple(demands_of(template.tree))
        if self._columns is not None:
            self._columns.check(found)
        self._seen.add(template)
        self.demands.update(found)

    def forget(self) -> None:
        """Starts again: what was gathered so far came from filters of which some were refused after all."""
        self._seen.clear()
        self.demands.clear()

    @property
    def attributes(self) -> tuple[Path, ...]:
        """The paths that filters ask for, in a fixed order."""
        return attributes_of(self.demands)

    def __reduce__(self) -> tuple[type[FilterCheck], tuple[Schema | None, Columns | None]]:
        return FilterCheck, (self._schema, self._columns)


def read_filter(id: str | None, text: object, dialect: str | None, check: FilterCheck) -> Filter:
    """The filter of a row that is a subscription; raises what is wrong with it."""
    if not id:
        raise SubscriptionError("a subscription needs an id")
    if not isinstance(text, str):
        raise SubscriptionError(f"the filter of '{id}' is {'null' if text is None else 'no string'}")
    filter_ = Filter.parse(text, dialect or "sql")
    check(filter_)
    return filter_


def attributes_of(demands: set[Demand] | frozenset[Demand]) -> tuple[Path, ...]:
    """The paths in demands, in a fixed order."""
    return tuple(sorted({path for demand in demands for path in demand.paths}))
