"""A complete, reproducible data set: schema, events, subscriptions, and how they came about.

A workload is a value. It knows its preset, its seed and every option in force, so that a folder written today
can be generated again from its own `workload.json`. Files hold no time, host or user: equal workloads write
equal bytes (with equal versions of Arrow).

    folder/events.<format>  folder/subscriptions.<format>  folder/schema.toml  folder/workload.json

Cost: Parquet and Arrow write a million rows in about a second; JSONL passes through Python objects and takes about
ten seconds per million rows. JSONL leaves out attributes that are null, as a publisher would.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from siftcast.model import Schema
from siftcast.model.errors import WorkloadError
from siftcast.workloads.files import FORMATS, read_table, write_table
from siftcast.workloads.parameters import require_choice
from siftcast.workloads.preset import OptionValue
from siftcast.workloads.tables import LEADING_COLUMNS, SUBSCRIPTION_TYPES, events_schema

METADATA_FILE = "workload.json"
SCHEMA_FILE = "schema.toml"


@dataclass(frozen=True, slots=True)
class Workload:
    """Events and subscriptions with their schema."""

    name: str
    schema: Schema
    events: pa.Table
    subscriptions: pa.Table
    description: str
    seed: int = 0
    parameters: Mapping[str, OptionValue] = field(default_factory=dict)

    def attributes(self) -> pa.Table:
        """The events without `event_id` and `publisher`: the attributes alone."""
        return self.events.drop_columns(list(LEADING_COLUMNS))

    def write(self, folder: Path, formats: Sequence[str] = ("parquet",)) -> list[Path]:
        """Write tables (in each format), schema and metadata; return the paths written."""
        if isinstance(formats, str):
            formats = (formats,)
        for chosen in formats:
            require_choice("formats", chosen, FORMATS)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for chosen in formats:
            for title, table in (("events", self.events), ("subscriptions", self.subscriptions)):
                path = folder / f"{title}.{chosen}"
                write_table(table, path, chosen)
                written.append(path)
        schema_path = folder / SCHEMA_FILE
        schema_path.write_text(self.schema.to_toml(), encoding="utf-8")
        metadata_path = folder / METADATA_FILE
        metadata_path.write_text(json.dumps(self.metadata(), indent=2) + "\n", encoding="utf-8")
        return [*written, schema_path, metadata_path]

    def metadata(self) -> dict[str, Any]:
        """All that is needed to generate the workload again, ready for JSON."""
        return {
            "name": self.name,
            "description": self.description,
            "seed": self.seed,
            "events": self.events.num_rows,
            "subscriptions": self.subscriptions.num_rows,
            "parameters": dict(self.parameters),
            "subscription_columns": self.subscriptions.column_names,
        }

    @classmethod
    def read(cls, folder: Path) -> Workload:
        """Read a written workload back, from whichever format is there."""
        folder = Path(folder)
        try:
            metadata = json.loads((folder / METADATA_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise WorkloadError(f"no workload in '{folder}': {METADATA_FILE} is missing") from None
        schema = Schema.load(folder / SCHEMA_FILE)
        columns = [(name, SUBSCRIPTION_TYPES[name]) for name in metadata["subscription_columns"]]
        return cls(
            name=metadata["name"],
            schema=schema,
            events=_read_any(folder, "events", events_schema(schema)),
            subscriptions=_read_any(folder, "subscriptions", pa.schema(columns)),
            description=metadata["description"],
            seed=metadata["seed"],
            parameters=metadata["parameters"],
        )


def _read_any(folder: Path, title: str, schema: pa.Schema) -> pa.Table:
    for chosen in FORMATS:
        path = folder / f"{title}.{chosen}"
        if path.exists():
            return read_table(path, chosen, schema)
    raise WorkloadError(f"no {title} in '{folder}': expected {title}.{{{','.join(FORMATS)}}}")
