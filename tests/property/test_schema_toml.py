"""Laws of schemas: they survive TOML, and coercion leaves values that compare as the schema says."""

import math
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from siftcast.model import Attribute, Schema, SchemaError
from siftcast.model.intervals import Scale
from siftcast.model.values import Kind, kind_of
from tests.property.test_filter_trees import values

finite = st.floats(allow_nan=False, allow_infinity=False)
steps = st.none() | st.integers(1, 10**6) | st.floats(1e-6, 1e6)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
moments = st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0))


def pairs(ends):
    return st.none() | st.tuples(ends, ends).map(lambda pair: tuple(sorted(pair)))


domains = {
    "int": pairs(st.integers(-(2**63), 2**63 - 1)),
    "float": pairs(finite),
    "string": st.none()
    | st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, unique=True).map(tuple),
    "bool": st.none(),
    "timestamp": pairs(moments),
}


@st.composite
def attributes(draw, name=names):
    kind = draw(st.sampled_from(list(domains)))
    domain = draw(domains[kind])
    step = draw(steps) if kind in ("int", "float") else None
    if step is not None and domain is not None and domain[0] < domain[1]:
        assume(step <= domain[1] - domain[0])  # a grid has room for two values
    return Attribute(draw(name), kind, domain, step)


schemas = st.builds(
    Schema, st.lists(attributes(), max_size=5, unique_by=lambda attribute: attribute.name), st.just("") | names
)


@given(schemas)
def test_schema_survives_toml(schema):
    again = Schema.parse(schema.to_toml())
    assert again == schema
    assert hash(again) == hash(schema)
    assert [attribute.scale for attribute in again] == [attribute.scale for attribute in schema]


@given(attributes(), values)
def test_coerced_value_has_the_kind_and_the_domain_of_its_attribute_or_is_refused(attribute, value):
    try:
        coerced = attribute.coerce(value)
    except SchemaError:
        return
    if coerced is None:
        assert value is None or (value.is_nan() if isinstance(value, Decimal) else value != value)
    else:
        assert kind_of(coerced) is attribute.kind
        assert attribute.coerce(coerced) == coerced
        if attribute.type in ("int", "float"):
            assert type(coerced).__name__ == attribute.type
        if attribute.domain and attribute.kind is not Kind.STRING:
            assert attribute.domain[0] <= coerced <= attribute.domain[-1]


@given(moments, st.sampled_from(["T", " "]))
def test_timestamp_text_is_read_as_the_instant_it_names(moment: datetime, separator):
    assert Attribute("t", "timestamp").coerce(moment.isoformat(separator)) == moment


@given(st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100), st.integers(-50, 50), finite)
def test_cuts_of_a_grid_count_the_points_below_a_value(step, origin, value):
    scale = Scale(Kind.NUMBER, step, Fraction(origin))
    place = (Fraction(repr(value)) - origin) / step
    on_grid = place.denominator == 1
    assert scale.before(value)[1] == math.ceil(place)
    assert scale.after(value)[1] - scale.before(value)[1] == (1 if on_grid else 0)
