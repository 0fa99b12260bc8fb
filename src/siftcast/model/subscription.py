"""A subscription: who wants which events, and how soon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from siftcast.model.errors import SubscriptionError
from siftcast.model.filter import Filter
from siftcast.model.json_objects import decode_object
from siftcast.model.showing import shown

_FIELDS = ("id", "filter", "dialect", "subscriber", "delay_ms_max", "bandwidth")


@dataclass(frozen=True, slots=True)
class Subscription:
    """An interest with a name of its own.

    `delay_ms_max` bounds how late an event may come, and `bandwidth`, in bytes per second, what its node spends on
    receiving events and passing them on for others.
    """

    id: str
    filter: Filter
    subscriber: str = ""
    delay_ms_max: float | None = None
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise SubscriptionError(f"a subscription needs an id, as a string, not {shown(self.id)}")
        if not isinstance(self.filter, Filter):
            raise SubscriptionError(
                f"subscription {shown(self.id)}: filter must be a Filter, not {_given(self.filter)}"
            )
        if not isinstance(self.subscriber, str):
            raise SubscriptionError(
                f"subscription {shown(self.id)}: subscriber must be a string, not {shown(self.subscriber)}"
            )
        for name, bound in (("delay_ms_max", self.delay_ms_max), ("bandwidth", self.bandwidth)):
            if bound is not None and (
                isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 < bound < float("inf")
            ):
                raise SubscriptionError(f"subscription {shown(self.id)}: {name} must be positive, not {shown(bound)}")

    @classmethod
    def from_json(cls, text: str | bytes) -> Subscription:
        """Reads {"id": …, "filter": …[, "dialect", "subscriber", "delay_ms_max", "bandwidth"]}."""
        return cls.from_fields(decode_object(text, "a subscription", SubscriptionError))

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Subscription:
        """The same from a dict; fields that are null count as not given."""
        if not isinstance(fields, dict):
            raise SubscriptionError(f"the fields of a subscription are a dict, not {shown(fields)}")
        unknown = [name for name in fields if name not in _FIELDS]
        if unknown:
            raise SubscriptionError(f"unknown field {shown(unknown[0])}; known: {', '.join(_FIELDS)}")
        identity, text = fields.get("id"), fields.get("filter")
        if not isinstance(identity, str) or not isinstance(text, str):
            missing = "id" if not isinstance(identity, str) else "filter"
            raise SubscriptionError(f"'{missing}' must be given as a string")
        dialect, subscriber = fields.get("dialect"), fields.get("subscriber")
        for name, value in (("dialect", dialect), ("subscriber", subscriber)):
            if value is not None and not isinstance(value, str):
                raise SubscriptionError(f"'{name}' must be given as a string")
        return cls(
            identity,
            Filter.parse(text, dialect or "sql"),
            subscriber or "",
            fields.get("delay_ms_max"),
            fields.get("bandwidth"),
        )


def _given(filter_: object) -> str:
    return f"a text; write Filter.parse({shown(filter_)})" if isinstance(filter_, str) else shown(filter_)
