"""Columns of tables, and the demands that filters make of them."""

import pyarrow as pa
import pytest

from siftcast.model import Attribute, Columns, Filter, FilterTypeError, Schema, SchemaError
from siftcast.model.columns import Demand, demands_of

TABLE = pa.schema(
    [
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("amount", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("open", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("nothing", pa.null()),
        ("order", pa.struct([("price", pa.float64()), ("place", pa.struct([("x", pa.int64())]))])),
        ("order.price", pa.string()),
        ("coded", pa.dictionary(pa.int32(), pa.string())),
    ]
)
COLUMNS = Columns.of(TABLE)


def demands(text: str) -> list[Demand]:
    parsed = Filter.parse(text)
    bound, form = list(demands_of(parsed.expression)), list(demands_of(parsed.template.tree))
    assert bound == form  # literals or the places of literals: the demands are the same
    return form


@pytest.mark.parametrize(
    "text",
    [
        "symbol LIKE 'A%' AND price < 5 OR NOT open",
        "amount IN (1, 2.5, NULL) AND price BETWEEN amount AND 7",
        "day >= TIMESTAMP '2024-05-01'",
        "tags IS NULL AND m IS NOT NULL AND order IS NULL",
        "nothing = 5 AND nothing LIKE 'x'",
        "order.place.x = 1 AND order.price = 'flat comes first'",
        "`order.price` = 'flat in backquotes too'",
        "coded = 'x' AND coded > symbol",
        "1 < 2",
    ],
)
def test_filters_that_rows_can_answer_pass(text: str) -> None:
    assert not [reason for demand in demands(text) if (reason := COLUMNS.misfit(demand))]
    COLUMNS.check(demands(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("TRUE AND prise < 5", "the events have no column 'prise'; did you mean 'price'?"),
        ("prise IS NULL", "did you mean 'price'"),
        ("`order.place.x` = 1", "no column 'order.place.x'; write order.place.x for the field inside the struct"),
        ("order.`place.x` IS NULL", "no column 'order.place.x'; write order.place.x for the field"),
        ("Price < 5", "did you mean 'price'? Upper and lower case differ"),
        ("zzz = 1", "they have symbol, price, amount"),
        ("order.plac.x = 1", "did you mean 'order.place.x'?"),
        ("m.k = 1", "'m' is of type map<string, int64>, and filters reach into structs only"),
        ("price.x = 1", "'price' is of type double, and filters reach into structs only"),
        ("price = '5'", "'price' is of type double, which does not compare with a string; numbers are written without"),
        (
            "symbol IN (1, 2)",
            "'symbol' is of type string, which does not compare with a number; strings are written in",
        ),
        ("day = '2024-05-01'", "write TIMESTAMP before the string"),
        ("symbol = TIMESTAMP '2024-05-01'", "'symbol' is of type string, which does not compare with a timestamp"),
        ("price LIKE '8%'", "'price' is of type double, but LIKE wants a column of strings"),
        ("price", "does not compare with a boolean"),
        ("open = 1", "'open' is of type bool, which does not compare with a number"),
        ("tags = 'x'", "'tags' is of type list<item: string>, which compares with nothing"),
        ("order = 1", "'order' is of type struct, which compares with nothing"),
        ("symbol > price", "'symbol' is of type string and 'price' of type double, which do not compare"),
        ("NOT (price > 1 AND (open OR symbol < 3))", "'symbol'"),
    ],
)
def test_what_no_row_can_answer_is_named(text: str, reason: str) -> None:
    with pytest.raises(FilterTypeError) as caught:
        COLUMNS.check(demands(text))
    assert reason in str(caught.value)


def test_a_schema_of_a_table_has_what_compares() -> None:
    expected = Schema(
        [
            Attribute("symbol", "string"),
            Attribute("price", "float"),
            Attribute("amount", "float"),
            Attribute("day", "timestamp"),
            Attribute("open", "bool"),
            Attribute("order.price", "string"),
            Attribute("coded", "string"),
            Attribute("order.place.x", "int"),
        ],
        "quotes",
    )
    assert Schema.of(TABLE, "quotes") == expected
    assert Schema.of(TABLE.empty_table(), "quotes") == expected


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ([("a", pa.int64()), ("b", pa.int64()), ("a", pa.string())], "a"),
        ([("a", pa.struct([("b", pa.int64()), ("b", pa.string())]))], r"a\.b"),
    ],
)
def test_a_schema_of_a_table_leaves_no_column_out_without_a_word(fields: list[object], name: str) -> None:
    with pytest.raises(SchemaError, match=f"two columns of the table are named '{name}'; rename one"):
        Schema.of(pa.schema(fields))


def test_a_schema_of_a_table_tells_fields_from_columns_and_one_written_down_does_not() -> None:
    of_table = Schema.of(TABLE)
    for text in ("order.place.x = 1", "order.price = 'flat'", "`order.price` = 'flat'"):
        Filter.parse(text).check(of_table)
    inside = Filter.parse("`order.place.x` = 1")
    with pytest.raises(FilterTypeError, match=r"no attribute 'order\.place\.x'; write order\.place\.x for the field"):
        inside.check(of_table)
    inside.check(Schema.parse(of_table.to_toml()))


def test_pandas_tables_are_known_too() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"symbol": ["A"], "price": [1.5], "schema": [3], "at": pandas.to_datetime(["2024-05-01"])})
    types = {attribute.name: attribute.type for attribute in Schema.of(frame)}
    assert types == {"symbol": "string", "price": "float", "schema": "int", "at": "timestamp"}


@pytest.mark.parametrize("thing", [[1], {"price": float}, None, "price double"])
def test_what_is_no_table_has_no_columns(thing: object) -> None:
    with pytest.raises(SchemaError, match="Spark, Arrow or pandas table"):
        Schema.of(thing)
