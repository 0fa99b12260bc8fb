"""Structured logs: one line an occurrence, with named values, for people or as JSON. Secrets are never handed to it."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog

from siftcast.runtimes.live.configuration import LogSpec

Logger = structlog.typing.FilteringBoundLogger


def make_log(spec: LogSpec, stream: TextIO | None = None) -> Logger:
    """A logger as the configuration wants it, to standard error unless told."""
    out = sys.stderr if stream is None else stream
    final: structlog.typing.Processor
    if spec.format == "json":
        final = structlog.processors.JSONRenderer()
    else:
        final = structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=0)
    log: Logger = structlog.wrap_logger(
        structlog.PrintLogger(out),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            final,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, spec.level.upper())),
    )
    return log
