"""What an event says inside: its values, its time slot and its payload, as bytes whose length does not tell the values.

values (as long for all events of a schema)  slot(8)  payload, padded to a class of lengths
"""

from __future__ import annotations

from typing import NamedTuple

from siftcast.model import EventError
from siftcast.model.values import Value
from siftcast.security.credentials import CredentialSchema, Leaves
from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.padding import pad, unpad
from siftcast.security.hazmat.scheme.event_form import SealedEvent, read_event

_SLOT_BYTES = 8


class Body(NamedTuple):
    """What was said, and the paths of it."""

    values: tuple[Value | None, ...]
    payload: bytes
    leaves: Leaves


def write_body(schema: CredentialSchema, values: tuple[Value | None, ...], slot: int | None, payload: bytes) -> bytes:
    """The body of an event."""
    return schema.write(values) + (slot or 0).to_bytes(_SLOT_BYTES, "big") + pad(payload)


def read_body(schema: CredentialSchema, data: bytes) -> Body:
    """What a body says; raises UnopenedError for one that this schema does not have."""
    end = schema.values_bytes + _SLOT_BYTES
    if len(data) < end:
        raise UnopenedError("malformed", "the body of the sealed event is cut short")
    slot = int.from_bytes(data[schema.values_bytes : end], "big")
    try:
        values = schema.read(data[: schema.values_bytes])
        return Body(values, unpad(data[end:]), schema.leaves(values, slot))
    except EventError as error:
        raise UnopenedError("malformed", str(error)) from None


def read_under(schema: CredentialSchema, epoch: int, sealed: bytes) -> SealedEvent:
    """A sealed event of a schema and an epoch; raises UnopenedError. No pairing is spent on one that is not."""
    event = read_event(sealed)
    if event.digest != schema.digest:
        raise UnopenedError("no-key", "the event is of another schema")
    if event.epoch != epoch:
        raise UnopenedError("unknown-epoch", f"the event is of epoch {event.epoch}, and the keys are of epoch {epoch}")
    levels = [len(part.levels) for part in event.parts]
    if levels != [each.depth + 1 for each in schema.dimensions]:
        raise UnopenedError("malformed", "the event does not have the dimensions and levels of its schema")
    return event
