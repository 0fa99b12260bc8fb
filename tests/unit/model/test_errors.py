"""Errors: one root, stable codes, readable fields, and a form that survives a process boundary."""

import pickle

import pytest

from siftcast.model import (
    FilterError,
    FilterLimitError,
    FilterSyntaxError,
    FilterTypeError,
    SiftcastError,
    TopologyFileError,
    errors,
)

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SiftcastError) and kind is not SiftcastError
]
CODES = {
    "FilterError": "filter",
    "FilterSyntaxError": "filter-syntax",
    "FilterTypeError": "filter-type",
    "FilterLimitError": "filter-limit",
    "SchemaError": "schema",
    "EventError": "event",
    "SubscriptionError": "subscription",
    "EngineError": "engine",
    "WorkloadError": "workload",
    "DataError": "data",
    "UnderlayError": "underlay",
    "TopologyFileError": "topology-file",
}


def examples() -> list[SiftcastError]:
    made: list[SiftcastError] = [
        FilterSyntaxError("no", "a\nb ; c", 4, expected="yes"),
        FilterLimitError("terms", 5_000, 4_096),
        TopologyFileError("a.brite", "no links", line=3, remedy="add some"),
    ]
    known = {type(error) for error in made}
    return made + [kind("something is wrong") for kind in KINDS if kind not in known]


def test_published_codes_stay_as_they_are():
    found = {kind.__name__: kind.code for kind in KINDS}
    assert {name: found.get(name) for name in CODES} == CODES


@pytest.mark.parametrize("error", examples(), ids=lambda error: error.code)
def test_error_survives_pickling_with_its_fields(error):
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)
    assert isinstance(twin, SiftcastError)


def test_syntax_error_has_its_place_as_fields():
    error = FilterSyntaxError("no", "a\nb ; c", 4, expected="yes")
    assert (error.line, error.column, error.offset, error.problem, error.expected) == (2, 3, 4, "no", "yes")
    assert str(error) == "line 2, column 3: no; expected yes\n  b ; c\n    ^"


def test_limit_error_has_its_numbers_as_fields():
    error = FilterLimitError("terms", 5_000, 4_096)
    assert (error.what, error.found, error.limit) == ("terms", 5_000, 4_096)
    assert str(error) == "the filter has terms 5,000, the limit is 4,096"


def test_every_mistake_in_a_filter_is_a_filter_error():
    for kind in (FilterSyntaxError, FilterTypeError, FilterLimitError):
        assert issubclass(kind, FilterError)
