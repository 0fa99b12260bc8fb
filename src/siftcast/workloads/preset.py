"""What a preset is: a named recipe with its source, its options and, for applications, its profile.

The profiles are Table 1 of the paper on layering and configurable matching (section 2.2). They are data, so
that a planner or a page can read them: "how many subscribers has an RSS application, and how long may it
take?". Numbers are ranges (low, high); where the table prints one number both ends are that number.

Options are a frozen dataclass of plain values (int, float, str, bool) which checks itself. A preset holds
one instance, its defaults; a caller's changes make another. Nothing is a hidden default:
`Workload.parameters` and the written metadata name every option in force.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from siftcast.model import Schema
from siftcast.model.errors import WorkloadError
from siftcast.workloads.streams import Streams

OptionValue = int | float | str | bool


@dataclass(frozen=True, slots=True)
class ApplicationProfile:
    """One column of the paper's table of application characteristics."""

    expressiveness: str
    publisher_bandwidth: str
    latency_ms_max: tuple[float, float]
    subscription_clustering: str
    subscribers: tuple[int, int]
    subscribe_frequency: str
    publishers: tuple[int, int]
    events_per_s: tuple[float, float] | None
    """None where the table says "irregular bursts"."""


@dataclass(frozen=True, slots=True)
class Request:
    """How much to generate, and from which random streams."""

    events: int
    subscriptions: int
    streams: Streams


@dataclass(frozen=True, slots=True)
class Content:
    """What a builder returns: the schema and both tables."""

    schema: Schema
    events: pa.Table
    subscriptions: pa.Table


@dataclass(frozen=True, slots=True)
class Preset:
    """A named workload recipe."""

    name: str
    title: str
    paper: str
    description: str
    options: Any
    build: Callable[[Any, Request], Content]
    profile: ApplicationProfile | None = None

    @property
    def defaults(self) -> Mapping[str, OptionValue]:
        """The options and the values they have unless changed."""
        return self.parameters_of(self.options)

    @staticmethod
    def parameters_of(options: Any) -> Mapping[str, OptionValue]:
        """Options as a mapping from names to plain values."""
        return MappingProxyType(dataclasses.asdict(options))

    def configure(self, changes: Mapping[str, object]) -> Any:
        """The options with some of them changed; unknown names and bad values raise `WorkloadError`."""
        unknown = sorted(set(changes) - set(self.defaults))
        if unknown:
            known = ", ".join(self.defaults) or "none"
            raise WorkloadError(f"parameter '{unknown[0]}' is unknown to preset '{self.name}' (options: {known})")
        return dataclasses.replace(self.options, **changes)

    def parse_option(self, name: str, text: str) -> OptionValue:
        """Read an option's value from text, as a command line hands it over."""
        if name not in self.defaults:
            self.configure({name: text})
        default = self.defaults[name]
        if isinstance(default, bool):
            if text.lower() not in ("true", "false"):
                raise WorkloadError(f"parameter '{name}' must be true or false, got {text!r}")
            return text.lower() == "true"
        try:
            return type(default)(text)
        except ValueError:
            kind = "an integer" if isinstance(default, int) else "a number"
            raise WorkloadError(f"parameter '{name}' must be {kind}, got {text!r}") from None
