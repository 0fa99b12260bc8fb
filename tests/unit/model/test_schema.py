"""Schemas: what they accept, what they refuse and why, in Python and in TOML."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from siftcast.model import Attribute, Schema, SchemaError

STOCKS = """
name = "stocks"

[[attribute]]
name = "symbol"
type = "string"
domain = ["IBM", "ACME"]

[[attribute]]
name = "price"
type = "float"
domain = [0, 1000]
granularity = 0.05

[[attribute]]
name = "volume"
type = "int"

[[attribute]]
name = "halted"
type = "bool"

[[attribute]]
name = "time"
type = "timestamp"
domain = [2024-01-01, 2024-12-31T23:59:59Z]
"""


def test_toml_and_python_give_the_same_schema():
    start, end = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC)
    schema = Schema(
        [
            Attribute("symbol", "string", ("IBM", "ACME")),
            Attribute("price", "float", (0.0, 1000.0), 0.05),
            Attribute("volume", "int"),
            Attribute("halted", "bool"),
            Attribute("time", "timestamp", (start, end)),
        ],
        "stocks",
    )
    assert Schema.parse(STOCKS) == schema
    assert Schema.parse(schema.to_toml()) == schema
    assert schema.names == ("symbol", "price", "volume", "halted", "time")
    assert [attribute.type for attribute in schema] == ["string", "float", "int", "bool", "timestamp"]
    assert len(schema) == 5
    assert "price" in schema
    assert schema != Schema(schema.attributes[::-1], "stocks")


def test_schema_is_loaded_from_a_file_and_errors_name_it(tmp_path):
    path = tmp_path / "stocks.toml"
    path.write_text(STOCKS, encoding="utf-8")
    assert Schema.load(path) == Schema.parse(STOCKS)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(SchemaError, match=r"stocks\.toml: is not UTF-8"):
        Schema.load(path)
    path.write_text("name = ", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"stocks\.toml: not valid TOML"):
        Schema.load(str(path))
    with pytest.raises(SchemaError, match=r"missing\.toml: cannot be read"):
        Schema.load(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("attributes = 1", "unknown entry 'attributes'"),
        ("attribute = 1", r"\[\[attribute\]\] tables"),
        ("name = 1", "name must be a string"),
        ("[[attribute]]\ntype = 'int'", "'name' must be given"),
        ("[[attribute]]\nname = 'a'", "attribute 'a': 'type' must be given"),
        ("[[attribute]]\nname = 'a'\ntype = 'integer'", "'integer' is none of int, float"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\nstep = 1", "unknown entry 'step'"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ndomain = 5", "'domain' must be a list"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ndomain = [1]", "low <= high"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ndomain = [2, 1]", "low <= high"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ndomain = ['a', 'b']", "of type int"),
        ("[[attribute]]\nname = 'a'\ntype = 'float'\ndomain = [nan, 1.0]", "empty or null"),
        ("[[attribute]]\nname = 'a'\ntype = 'string'\ndomain = []", "empty or null"),
        ("[[attribute]]\nname = 'a'\ntype = 'string'\ndomain = ['x', 'x']", "twice"),
        ("[[attribute]]\nname = 'a'\ntype = 'bool'\ndomain = [true]", "no domain"),
        ("[[attribute]]\nname = 'a'\ntype = 'string'\ngranularity = 1", "only numbers"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ngranularity = 0", "positive number"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ngranularity = nan", "positive number"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ngranularity = true", "positive number"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ngranularity = '1'", "positive number"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ngranularity = inf", r"from 2\.23e-308 to 2\^63, not inf"),
        ("[[attribute]]\nname = 'a'\ntype = 'float'\ngranularity = 1e-320", r"from 2\.23e-308 to 2\^63, not 1e-320"),
        ("[[attribute]]\nname = 'a'\ntype = 'float'\ndomain = [-inf, 1.0]\ngranularity = 0.5", "finite ends"),
        ("[[attribute]]\nname = 'a'\ntype = 'float'\ndomain = [0, inf]", r"finite ends, not \[0\.0, inf\]; state the"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\ndomain = [2, 5]\ngranularity = 4", "at most 3, the width .*, not 4"),
        ("[[attribute]]\nname = ''\ntype = 'int'", "needs a name"),
        ("[[attribute]]\nname = 'a'\ntype = 'int'\n" * 2, "same name"),
    ],
)
def test_malformed_schema_is_refused_with_the_reason(toml, words):
    with pytest.raises(SchemaError, match=words):
        Schema.parse(toml)


def test_a_granularity_may_be_as_wide_as_the_domain_and_anything_on_a_single_value():
    assert Attribute("a", "float", (0.0, 0.5), 0.5).scale.step == Decimal("0.5")
    assert Attribute("a", "int", (7, 7), 2).domain == (7, 7)


def test_missing_attribute_is_a_schema_error_that_lists_the_others():
    with pytest.raises(SchemaError, match="no attribute 'x'; it has symbol, price"):
        Schema.parse(STOCKS)["x"]


def test_granularity_from_numpy_works_and_is_written_as_a_number():
    attribute = Attribute("a", "float", None, np.float64(0.5))
    assert attribute == Attribute("a", "float", None, 0.5)
    assert attribute.scale.step == Decimal("0.5")
    assert "granularity = 0.5\n" in Schema([attribute]).to_toml()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 5.0, 5),
        ("int", np.int8(5), 5),
        ("int", 2**80, 2**80),
        ("float", 5, 5.0),
        ("float", Decimal("0.1"), 0.1),
        ("float", float("nan"), None),
        ("float", np.float32("nan"), None),
        ("float", Decimal("NaN"), None),
        ("float", float("inf"), float("inf")),
        ("string", "", ""),
        ("bool", np.bool_(True), True),
        ("timestamp", "2024-05-01 10:00:00+01:00", datetime(2024, 5, 1, 9, tzinfo=UTC)),
        ("timestamp", date(2024, 5, 1), datetime(2024, 5, 1, tzinfo=UTC)),
        ("int", None, None),
    ],
)
def test_value_is_brought_into_the_form_of_its_attribute(kind, value, expected):
    coerced = Attribute("a", kind).coerce(value)
    assert coerced == expected
    assert type(coerced) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 5.5),
        ("int", "5"),
        ("int", True),
        ("int", float("inf")),
        ("float", 10**400),
        ("float", "1.5"),
        ("string", 5),
        ("string", 10**5_000),
        ("string", b"a"),
        ("bool", 1),
        ("timestamp", 0),
        ("timestamp", "yesterday"),
        ("int", [1]),
        ("string", {"a": "x" * 1_000}),
    ],
    ids=lambda part: str(type(part)),
)
def test_misfit_is_refused_in_a_short_message_that_names_the_attribute(kind, value):
    with pytest.raises(SchemaError, match=r"attribute 'a'") as caught:
        Attribute("a", kind).coerce(value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("name", "inside", "outside"), [("symbol", "IBM", "ibm"), ("price", 1000, 1000.01)])
def test_value_outside_its_domain_is_refused(name, inside, outside):
    attribute = Schema.parse(STOCKS)[name]
    assert attribute.coerce(inside) == inside
    with pytest.raises(SchemaError, match="outside its domain"):
        attribute.coerce(outside)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ('name = "price"\ntype = "flaot"', 6),
        ('name = 5\ntype = "float"', 5),
        ('type = "float"', 4),
        ('name = "price"\ntype = "float"\ndomain = [2, 1]', 7),
        ('name = "price"\ntype = "float"\ndomian = [1, 2]', 7),
        ('name = "price"\ntype = "float"\ndomain = [1, 2]\ngranularity = -1', 8),
        ('name = "price', 5),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(wrong, line, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('[[attribute]]\nname = "symbol"\ntype = "string"\n[[attribute]]\n' + wrong + "\n")
    with pytest.raises(SchemaError, match=rf"schema\.toml: .*line {line}\b"):
        Schema.load(path)


@pytest.mark.parametrize("end", ["", 'name = "x'])
def test_a_file_that_ends_too_early_is_told_with_its_last_line(end):
    with pytest.raises(SchemaError, match="line 3"):
        Schema.parse('name = "a"\n[[attribute]]\n' + (end or "name = ["))
