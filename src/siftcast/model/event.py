"""An event: a record of attributes, with an identity, an origin, a time and a payload that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from siftcast.model.errors import EventError
from siftcast.model.json_objects import decode_object
from siftcast.model.schema import Schema, checked_schema
from siftcast.model.showing import given


@dataclass(frozen=True, slots=True)
class Event:
    """Attributes may be missing or None, which is the same, and may nest: `a.b` reaches into `a`."""

    attributes: Mapping[str, object]
    id: str = ""
    source: str = ""
    time: datetime | None = None
    payload: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        """Raises EventError for a field of another type. Attributes are looked at where they are sent or kept."""
        if type(self.attributes) is not dict and not isinstance(self.attributes, Mapping):
            raise EventError(f"the attributes of an event are a mapping, not {given(self.attributes)}")
        if type(self.id) is not str:
            object.__setattr__(self, "id", _text("id", self.id))
        if type(self.source) is not str:
            object.__setattr__(self, "source", _text("source", self.source))
        if self.time is not None and type(self.time) is not datetime:
            object.__setattr__(self, "time", _moment(self.time))
        if type(self.payload) is not bytes:
            object.__setattr__(self, "payload", _bytes(self.payload))

    @classmethod
    def from_json(cls, text: str | bytes, schema: Schema | None = None) -> Event:
        """An event whose attributes are the members of a JSON object; raises EventError or SchemaError."""
        attributes = decode_attributes(text)
        return cls(attributes if schema is None else checked_schema(schema).coerce(attributes))

    def get(self, name: str, default: object = None) -> object:
        """An attribute by its flat name, as `dict.get`: filters ask events and dicts alike."""
        try:
            return self.attributes.get(name, default)
        except TypeError:  # what cannot be a key is none
            return default

    def __getitem__(self, name: str) -> object:
        return self.attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self.attributes

    def __len__(self) -> int:
        return len(self.attributes)

    def keys(self) -> object:
        """The names of the attributes: with `__getitem__`, what `dict(event)` needs."""
        return self.attributes.keys()


_ACCEPTED = (Event, Mapping)  # a union would be made again for each event


def check_event(event: object) -> None:
    """Raises EventError unless it is an event or a mapping of attributes; callers in a hurry let a `dict` pass."""
    if not isinstance(event, _ACCEPTED):
        hint = "; for a table see match_batch" if hasattr(event, "columns") else ""
        raise EventError(f"an event is a mapping of attributes or an Event, not {given(event)}{hint}")


def _text(name: str, value: object) -> str:
    """The text itself where it is that of a subclass, such as a string enumeration."""
    if isinstance(value, str):
        return str.__str__(value)
    convert = f"; convert it: str({name})" if isinstance(value, int | UUID) else ""
    raise EventError(f"the {name} of an event is a string, not {given(value)}{convert}")


def _moment(value: object) -> datetime:
    try:
        if isinstance(value, datetime):  # pandas.Timestamp and the like, cut to microseconds
            return datetime.fromisoformat(value.isoformat())
    except ValueError:  # pandas' NaT says that it is a datetime
        pass
    raise EventError(f"the time of an event is a datetime or None, not {given(value)}")


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    convert = "; convert it: payload.encode()" if isinstance(value, str) else ""
    raise EventError(f"the payload of an event is bytes, not {given(value)}{convert}")


def decode_attributes(text: str | bytes) -> dict[str, object]:
    """The members of a JSON object; raises EventError for anything else."""
    return decode_object(text, "an event", EventError)
