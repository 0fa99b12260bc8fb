"""What the audit log says of a client's requests: which they are, and which of their fields.

Left out are payloads and attributes of events, and the text of a configuration that is to be applied, which has hashes
of tokens in it. A request that is not here (publishes, heartbeats, answers to offers) has no line of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from siftcast.runtimes.live.wire.frames import (
    Describe,
    EndDurable,
    Frame,
    Inquire,
    Operate,
    ReadDeadLetters,
    Replace,
    Subscribe,
    Unsubscribe,
)


class Deed(NamedTuple):
    """What a request is called, and what is said about it."""

    what: str
    facts: dict[str, Any]


def _subscribe(frame: Subscribe) -> Deed:
    more = {"start": frame.start, "since_ms": frame.since_ms}
    facts = {"subscription": frame.subscription, "filter": frame.filter, "durable": frame.durable, **more}
    return Deed("subscribe", facts)


def _replace(frame: Replace) -> Deed:
    return Deed("replace", {"subscription": frame.subscription, "filter": frame.filter})


def _inquire(frame: Inquire) -> Deed:
    event = frame.content.decode("utf-8", "replace") if frame.question == "trace" else None
    return Deed("inquire", {"question": frame.question, "event": event})


def _operate(frame: Operate) -> Deed:
    return Deed(frame.action, {"forgotten": frame.what if frame.action == "forget" else None})


_DEEDS: dict[type[Frame], Callable[[Any], Deed]] = {
    Subscribe: _subscribe,
    Replace: _replace,
    Unsubscribe: lambda frame: Deed("unsubscribe", {"subscription": frame.subscription}),
    EndDurable: lambda frame: Deed("end durable", {"durable": frame.name}),
    ReadDeadLetters: lambda frame: Deed("read dead letters", {"durable": frame.name}),
    Describe: lambda _: Deed("describe", {}),
    Inquire: _inquire,
    Operate: _operate,
}


def deed_of(frame: Frame) -> Deed:
    """What a request is, in words."""
    return _DEEDS[type(frame)](frame)
