"""Structured logs: one line per occurrence, with named values, for people or as JSON. Secrets are never handed to it.

A log that cannot be written, because its disk is full or nobody reads it any more, stops nothing: what is to be said is
said by the way of something that must be done.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TextIO

import structlog

Logger = structlog.typing.FilteringBoundLogger


class _Printer:
    """Writes lines for as long as they can be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, message: str) -> None:
        """Writes one line."""
        with suppress(OSError, ValueError):  # a full disk, a pipe without a reader, a stream that was closed
            self._stream.write(message + "\n")
            self._stream.flush()

    log = debug = info = warning = error = critical = msg


def make_log(format: str = "console", level: str = "info", *, stream: TextIO | None = None) -> Logger:
    """A logger; `format` is console or json. It writes to standard error unless told."""
    out = sys.stderr if stream is None else stream
    final: structlog.typing.Processor
    if format == "json":
        final = structlog.processors.JSONRenderer()
    else:
        final = structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=0)
    log: Logger = structlog.wrap_logger(
        _Printer(out),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            final,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
    )
    return log
