"""A schema as its dimensions in order: what an event has credentials for, and what keys are made for.

The digest of a schema is part of each label, so that keys say nothing under another schema. With `TimeSlots`, a last
dimension is the time since an epoch began, in slots: who joins in the middle gets keys for the rest of it. A month in
seconds has 22 levels, so a stay that touches an end of it takes at most 22 keys, and any at most 42.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from siftcast.model import Attribute, EventError, Schema, SchemaError
from siftcast.model.schema import checked_schema
from siftcast.model.showing import shown
from siftcast.model.values import Kind, Value
from siftcast.security.credentials.dimensions import LEVELS_MAX, Dimension, GridDimension, Instants, grid_dimension
from siftcast.security.credentials.paths import CredentialPath
from siftcast.security.credentials.texts import Keyword, KeywordDimension, PrefixDimension, SuffixDimension, Text
from siftcast.security.hazmat.encoding import enc
from siftcast.space.dz.axes import GridAxis

Leaves = tuple[CredentialPath, ...]
"""The path of an event in each dimension."""
DIMENSIONS_MAX = 64
_NUMBER_BYTES, _TIME_BYTES, _HEAD_BYTES = 9, 15, 5
SLOT = "(time slot)"
"""What the time dimension goes by; no attribute of a filter."""


@dataclass(frozen=True, slots=True)
class TimeSlots:
    """An epoch as so many slots of so many seconds."""

    count: int
    slot_s: float = 1.0

    def __post_init__(self) -> None:
        if not (type(self.count) is int and 2 <= self.count <= 2**40 and 0 < self.slot_s < float("inf")):
            raise SchemaError("an epoch has at least two time slots, of a positive number of seconds each")


class CredentialSchema:
    """The dimensions of a schema. `options` say of each string attribute whether it is a `Text` or a `Keyword`."""

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, Text | Keyword | Instants] | None = None,
        slots: TimeSlots | None = None,
    ) -> None:
        self.schema = checked_schema(schema)
        self.slots = slots
        chosen = dict(options or {})
        if unknown := sorted(chosen.keys() - set(schema.names)):
            raise SchemaError(f"the schema has no attribute {shown(unknown[0])}; it has {', '.join(schema.names)}")
        self.by_attribute = {each.name: _dimensions(each, chosen.get(each.name)) for each in schema.attributes}
        self.dimensions: tuple[Dimension, ...] = tuple(each for some in self.by_attribute.values() for each in some)
        if slots is not None:
            axis = GridAxis(Attribute(SLOT, "int", (0, slots.count - 1)))
            self.dimensions += (GridDimension(axis),)
        if not 1 <= len(self.dimensions) <= DIMENSIONS_MAX:
            raise SchemaError(
                f"a schema has 1 to {DIMENSIONS_MAX} dimensions of credentials, not {len(self.dimensions)}"
            )
        for each in self.dimensions:
            if each.depth + 1 > LEVELS_MAX:
                raise SchemaError(
                    f"attribute '{each.attribute}' has {each.depth + 1} levels, and {LEVELS_MAX} are allowed"
                )
        self._values_bytes = 5 + sum(_bytes_of(each, chosen.get(each.name)) for each in schema.attributes)
        self.digest = self._digest()

    def _digest(self) -> bytes:
        rows = [enc(each.attribute.encode(), each.kind.encode(), each.layout()) for each in self.dimensions]
        slots = b"" if self.slots is None else repr((self.slots.count, self.slots.slot_s)).encode()
        return hashlib.sha256(enc(b"siftcast credentials 1", slots, *rows)).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CredentialSchema) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def values(self, attributes: Mapping[str, object]) -> tuple[Value | None, ...]:
        """An event's values in order; raises EventError for what the schema does not have."""
        if unknown := sorted(map(str, attributes.keys() - set(self.schema.names))):
            raise EventError(
                f"attribute {shown(unknown[0])} is not in the schema; what has no key goes into the payload"
            )
        try:
            return tuple(each.coerce(attributes.get(each.name)) for each in self.schema.attributes)
        except SchemaError as error:
            raise EventError(str(error)) from None

    def leaves(self, values: tuple[Value | None, ...], slot: int | None = None) -> Leaves:
        """The path of an event in each dimension; raises EventError for a value that has none."""
        found = [
            dimension.leaf(value)
            for value, some in zip(values, self.by_attribute.values(), strict=True)
            for dimension in some
        ]
        if self.slots is not None:
            if slot is None or not 0 <= slot < self.slots.count:
                raise EventError("the event lies outside of the time slots of the epoch")
            found.append(self.dimensions[-1].leaf(slot))
        return tuple(found)

    def write(self, values: tuple[Value | None, ...]) -> bytes:
        """Values as bytes, as many for all events."""
        return msgspec.msgpack.encode(values).ljust(self._values_bytes, b"\xc1")

    def read(self, data: bytes) -> tuple[Value | None, ...]:
        """The values behind bytes that `write` made; raises EventError."""
        try:
            found = msgspec.msgpack.decode(data.rstrip(b"\xc1"))
        except (msgspec.MsgspecError, ValueError, RecursionError):  # text that is no UTF-8 is a ValueError
            raise EventError("the values of the event are malformed") from None
        if not isinstance(found, list) or len(found) != len(self.by_attribute):
            raise EventError("the values of the event are not those of the schema")
        values = self.values(dict(zip(self.by_attribute, found, strict=True)))
        if self.write(values) != data:
            raise EventError("the values of the event are not written as they should be")
        return values

    @property
    def values_bytes(self) -> int:
        """How long values are as bytes."""
        return self._values_bytes


def _dimensions(attribute: Attribute, option: Text | Keyword | Instants | None) -> tuple[Dimension, ...]:
    if "." in attribute.name:
        raise SchemaError(f"attribute '{attribute.name}': fields inside structs have no credentials; lift it out")
    if not isinstance(option, Text | Keyword):
        return (grid_dimension(attribute, option),)
    if attribute.kind is not Kind.STRING or attribute.domain is not None:
        raise SchemaError(f"attribute '{attribute.name}': {type(option).__name__} is for strings without a domain")
    if isinstance(option, Keyword):
        return (KeywordDimension(attribute.name, option.bytes_max),)
    prefix = PrefixDimension(attribute.name, option.bytes_max)
    return (prefix, SuffixDimension(attribute.name, option.bytes_max)) if option.suffix else (prefix,)


def _bytes_of(attribute: Attribute, option: object) -> int:
    if isinstance(option, Text | Keyword):
        return _HEAD_BYTES + option.bytes_max
    if attribute.kind is Kind.STRING:
        return _HEAD_BYTES + max(len(str(each).encode()) for each in attribute.domain or ("",))
    return _TIME_BYTES if attribute.kind is Kind.TIMESTAMP else _NUMBER_BYTES


def slot_of(slots: TimeSlots | None, since_s: float, now_s: float) -> int | None:
    """Which slot of an epoch it is; None without slots."""
    return None if slots is None else int((now_s - since_s) // slots.slot_s)
