"""Matching under a name in SQL: a function of a struct.

    ss.register(spark, "my_rules", subscriptions)
    spark.sql("SELECT *, my_rules(struct(symbol, price)) AS matched FROM quotes")
    spark.sql("SELECT symbol, explode(my_rules(struct(*))) AS subscription_id FROM quotes")

A SQL function knows its arguments by place, and filters know attributes by name; a struct has both, and may come from
any table. Only what it holds is sent to Python: `struct(*)` sends all. Its fields are known when rows arrive, so that
is when filters are checked against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as t

from siftcast.model import Columns, DataError, FilterTypeError, Schema
from siftcast.spark.compiled import CompiledSubscriptions, compile_subscriptions
from siftcast.spark.match_counting import count_matches
from siftcast.spark.matching import Answer, arrow_function, match_lists
from siftcast.spark.schemas import IDS_TYPE
from siftcast.spark.session import check_session

_ANSWERS: dict[str, tuple[Answer, t.DataType]] = {
    "lists": (match_lists, IDS_TYPE),
    "counts": (count_matches, t.LongType()),
}


def register(
    spark: SparkSession,
    name: str,
    subscriptions: DataFrame | CompiledSubscriptions,
    output: Literal["lists", "counts"] = "lists",
    *,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> Callable[..., Column]:
    """Gives matching a name in this session's SQL; returns the same function for use with columns.

    It takes a struct with the columns that filters name and gives an array of the ids of the subscriptions that hold,
    or with `output="counts"` their number. Subscriptions are read at once; raises DataError if one cannot be used. With
    `strict`, a query fails whose struct lacks a column that filters name or has one that never compares.
    """
    check_session(spark)
    if not isinstance(name, str) or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        raise DataError(f"a function in SQL has a name of letters, digits and underscores, not {name!r}")
    if not spark.sql(f"SHOW SYSTEM FUNCTIONS LIKE '{name}'").isEmpty():  # Spark would silently take its own
        raise DataError(f"Spark has a function {name}() of its own, which would answer instead; choose another name")
    if output not in _ANSWERS:
        raise DataError(f"output must be {' or '.join(map(repr, _ANSWERS))}, not {output!r}")
    if not isinstance(subscriptions, CompiledSubscriptions):
        subscriptions = compile_subscriptions(
            subscriptions, id_column=id_column, filter_column=filter_column, schema=schema, engine=engine
        )
    subscriptions.check()
    answer, kind = _ANSWERS[output]
    shipment, demands = subscriptions.shipment, sorted(subscriptions.demands, key=repr) if strict else []

    def run(arguments: Iterator[pa.Array]) -> Iterator[pa.Array]:
        def batches() -> Iterator[pa.RecordBatch]:
            for each in arguments:
                if not isinstance(each, pa.StructArray):
                    raise DataError(f"{name}() takes one struct of columns, as in {name}(struct(symbol, price))")
                fields = pa.schema(list(each.type))
                try:
                    Columns.of(fields).check(demands)
                except FilterTypeError as error:
                    raise DataError(f"{name}(): {error}; fields are those of the struct that it is given") from None
                yield pa.RecordBatch.from_arrays(each.flatten(), schema=fields)

        return answer(shipment.load(), batches())

    function = arrow_function(run, kind)
    spark.udf.register(name, function)
    return function
