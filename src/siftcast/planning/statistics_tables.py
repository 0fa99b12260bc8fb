"""Counts of a content space as tables and text that people and other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from siftcast.model import Schema
from siftcast.planning.cell_table import AxisTable, CellTable, JointTable
from siftcast.planning.cells import VALUES_MAX, grid_size
from siftcast.space import Box, ContentSpace
from siftcast.space.zones import describe

NO_CELLS = "only attributes with a domain in the schema, or those asked for, have any"
DECILES = tuple(step / 10 for step in range(11))
_SHOWN = 10

ATTRIBUTES = pa.schema(
    [
        ("attribute", pa.string()),
        ("type", pa.string()),
        ("events", pa.int64()),  # with a value that is neither null nor NaN
        ("nulls", pa.int64()),
        ("outside", pa.int64()),  # of another kind, or beyond the domain; null where there is no domain
        ("distinct", pa.int64()),
        ("distinct_exact", pa.bool_()),
        ("minimum", pa.string()),
        ("maximum", pa.string()),
        ("deciles", pa.list_(pa.float64())),  # places on the axis: 0 %, 10 %, … 100 %
        ("constrained", pa.int64()),  # subscriptions that ask something of it
        ("selectivity", pa.float64()),  # the mean share of subscriptions that an event satisfies here
    ]
)
CELLS = pa.schema(
    [
        ("attribute", pa.string()),  # null for joint cells
        ("cell", pa.int64()),
        ("lows", pa.list_(pa.float64())),
        ("highs", pa.list_(pa.float64())),
        ("content", pa.string()),
        ("events", pa.int64()),
        ("volume", pa.float64()),
        ("weight", pa.float64()),
        ("subscriptions", pa.int64()),  # that overlap the cell
        ("popularity", pa.float64()),
        ("selectivity", pa.float64()),
        ("load", pa.float64()),
        ("crossing", pa.int64()),  # subscriptions that a cut at the lower edge would split; null for joint cells
    ]
)


def attribute_table(
    schema: Schema, summary: Mapping[str, Any], table: CellTable, naming: Mapping[str, int]
) -> pa.Table:
    """A row for each attribute; `summary` has events, and present, distinct, least and most by index.

    `naming` has for each attribute the number of subscriptions that name it; on an axis those count that it constrains.
    """
    axes = {axis.attribute: (axis, place) for axis, place in zip(table.axes, table.cells.space.axes, strict=True)}
    rows = []
    for index, attribute in enumerate(schema):
        present = summary[f"present{index}"]
        row: dict[str, Any] = {
            "attribute": attribute.name,
            "type": attribute.type,
            "events": present,
            "nulls": summary["events"] - present,
            "distinct": summary[f"distinct{index}"],
            "distinct_exact": False,
            "minimum": summary[f"least{index}"],
            "maximum": summary[f"most{index}"],
            "constrained": naming.get(attribute.name, 0),
        }
        if attribute.name in axes:
            axis, place = axes[attribute.name]
            row |= {
                "outside": present - int(axis.events.sum()),
                "deciles": axis.quantiles(DECILES),
                "constrained": axis.constrained,
                "selectivity": axis.match_rate,
            }
            size = grid_size(place)
            # A cell for each value, and no value elsewhere: then the cells that are not empty are the values.
            if size is not None and size == len(axis) and size <= VALUES_MAX and not row["outside"]:
                row |= {"distinct": int(np.count_nonzero(axis.events)), "distinct_exact": True}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=ATTRIBUTES)


def cell_table(table: CellTable) -> pa.Table:
    """A row for each cell, axis by axis in order, then the joint ones."""
    parts = [_cells(axis, table.cells.space) for axis in table.axes]
    if table.joint is not None:
        parts.append(_cells(table.joint, table.cells.space))
    return pa.concat_tables(parts)


def _cells(table: JointTable, space: ContentSpace) -> pa.Table:
    name = table.attribute if isinstance(table, AxisTable) else None
    shown = ContentSpace(Schema([space.schema[name]])) if name is not None else space
    boxes = [Box(tuple(low), tuple(high)) for low, high in zip(table.lows.tolist(), table.highs.tolist(), strict=True)]
    columns = [
        [name] * len(table),
        list(range(len(table))),
        table.lows.tolist(),
        table.highs.tolist(),
        [describe(shown, box) for box in boxes],
        table.events.astype(np.int64),
        table.volume,
        table.weight,
        np.rint(table.touched).astype(np.int64),
        table.popularity,
        table.selectivity,
        table.loads(),
        np.rint(table.crossing).astype(np.int64) if isinstance(table, AxisTable) else [None] * len(table),
    ]
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, CELLS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=CELLS)


def statistics_text(
    attributes: pa.Table,
    events: int,
    subscriptions: int,
    rejected: int,
    table: CellTable,
    *,
    first_rejected: str | None = None,
) -> str:
    """The attributes, and the fullest cells of each axis, for a terminal."""
    lines = [f"{events:,} events, {subscriptions:,} subscriptions" + f", {rejected:,} rejected" * bool(rejected)]
    if rejected and first_rejected:
        lines[0] += f"; the first is {first_rejected}"
    lines += map(_attribute_line, attributes.to_pylist())
    without = [row["attribute"] for row in attributes.to_pylist() if row["selectivity"] is None]
    if without:
        lines.append(f"no cells of {', '.join(without)}: {NO_CELLS}")
    for axis in table.axes:
        loads = axis.loads()
        total = max(float(loads.sum()), 1e-300)
        full = np.flatnonzero(axis.events > 0)
        if not len(full):
            lines.append(f"\nno events in the {len(axis):,} cells of {axis.attribute}")
            continue
        lines.append(f"\nfullest of {len(axis):,} cells of {axis.attribute}")
        space = ContentSpace(Schema([table.cells.space.schema[axis.attribute]]))
        for index in full[np.argsort(-loads[full], kind="stable")][:_SHOWN]:
            box = Box(tuple(axis.lows[index].tolist()), tuple(axis.highs[index].tolist()))
            lines.append(
                f"  {loads[index] / total:7.2%} of the load  {axis.volume[index]:7.2%} of the events  "
                f"popularity {axis.popularity[index]:7.2%}  {describe(space, box)}"
            )
    return "\n".join(lines)


def _attribute_line(row: Mapping[str, Any]) -> str:
    values = f"{'' if row['distinct_exact'] else '~'}{row['distinct']:,} values" if row["events"] else "no values"
    facts = [values, f"{row['nulls']:,} null"]
    if row["outside"] is not None:
        facts.append(f"{row['outside']:,} outside the domain")
    if row["minimum"] is not None:
        facts.append(f"{row['minimum']} … {row['maximum']}")
    wanted = f"{row['constrained']:,} subscriptions ask for it"
    if row["selectivity"] is not None:
        wanted += f", an event meets {row['selectivity']:.2%}"
    return f"{row['attribute']} ({row['type']}): {', '.join(facts)}; {wanted}"
