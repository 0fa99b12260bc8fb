"""`siftcast check`: which subscriptions of a file could be used, and what they look at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import bar, facts, out
from siftcast.model import Schema, Subscription
from siftcast.model.expression import references

if TYPE_CHECKING:
    from siftcast.files import Entry

_ERRORS_SHOWN = 20
_ATTRIBUTES_SHOWN = 20


def check(subscriptions: Path, /, *, schema: Path | None = None, quiet: Flag = False, json: Flag = False) -> int:
    """Parse every subscription of a file and report those that cannot be used.

    The exit status is 1 if there is any. Nothing is written.

    Example: siftcast check subs.jsonl --schema stocks.toml

    Parameters
    ----------
    subscriptions
        Subscriptions: .jsonl, .csv or .parquet, each also with .gz.
    schema
        A TOML file with the types of the attributes, to check the filters against.
    quiet
        Say nothing; the exit status tells.
    json
        Print the report as one line of JSON.
    """
    from siftcast.files import parse_subscriptions

    census = Census()
    for entry in parse_subscriptions(subscriptions, None if schema is None else Schema.load(schema)):
        census.add(entry)
    if json:
        out().print(census.to_json(), soft_wrap=True, markup=False)
    elif not quiet:
        census.show(out())
    return REJECTED if census.bad else OK


class Census:
    """Counts of what a file of subscriptions holds.

    A *template* is a filter without its literals: a million filters are often a handful of templates. Attributes
    are counted for each template once and multiplied, which is why a million filters take seconds.
    """

    def __init__(self) -> None:
        self.good = 0
        self.bad = 0
        self.errors: list[Entry] = []
        self._templates: Counter[int] = Counter()
        self._trees: dict[int, Any] = {}  # by the identity of a template, which holding the template keeps unique

    def add(self, entry: Entry) -> None:
        """Counts one row."""
        if isinstance(entry.outcome, Subscription):
            template = entry.outcome.filter.template
            self.good += 1
            self._templates[id(template)] += 1
            self._trees.setdefault(id(template), template)
        else:
            self.bad += 1
            if len(self.errors) < _ERRORS_SHOWN:
                self.errors.append(entry)

    @property
    def templates(self) -> int:
        """The number of distinct templates."""
        return len({template.tree for template in self._trees.values()})

    @property
    def attributes(self) -> Counter[str]:
        """For each attribute the number of filters that look at it."""
        counts: Counter[str] = Counter()
        for identity, template in self._trees.items():
            for name in {reference.name for reference in references(template.tree)}:
                counts[name] += self._templates[identity]
        return counts

    def to_json(self) -> str:
        """The census as one JSON object on one line."""
        import msgspec

        errors = [{"line": entry.line, "reason": _reason(entry)} for entry in self.errors]
        content = {
            "good": self.good,
            "bad": self.bad,
            "templates": self.templates,
            "attributes": dict(self.attributes.most_common()),
            "first_errors": errors,
        }
        return msgspec.json.encode(content).decode()

    def show(self, console: Console) -> None:
        """The census as errors, facts and a table."""
        for entry in self.errors:
            console.print(Text.assemble((f"line {entry.line}", "bold red"), "  ", _reason(entry)), soft_wrap=True)
        if self.bad > len(self.errors):
            console.print(f"… and {self.bad - len(self.errors):,} more")
        if self.bad:
            console.print()
        bad = f", {self.bad:,} cannot be used" if self.bad else ""
        console.print(facts([("subscriptions", f"{self.good:,} good{bad}"), ("templates", f"{self.templates:,}")]))
        if self.good:
            console.print()
            console.print(self._attribute_table())

    def _attribute_table(self) -> Table:
        counts = self.attributes
        table = Table(box=None, pad_edge=False)
        table.add_column("attribute")
        table.add_column("filters", justify="right")
        table.add_column("")
        for name, count in counts.most_common(_ATTRIBUTES_SHOWN):
            table.add_row(Text(name), f"{count:,}", Text(bar(count / self.good), "cyan"))
        if len(counts) > _ATTRIBUTES_SHOWN:
            table.add_row(f"… and {len(counts) - _ATTRIBUTES_SHOWN:,} more", "", "")
        return table


def _reason(entry: Entry) -> str:
    error = entry.outcome
    return "" if isinstance(error, Subscription) else f"{error.code}: {error}"
