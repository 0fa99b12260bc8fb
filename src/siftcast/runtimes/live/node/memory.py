"""What a node remembers of what happened to it, for people: a trace of everything, and the last hops of events.

It outlives a defect: that is when people look at it. Whatever goes wrong with it, the node goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from siftcast.model import Filter
from siftcast.overlays.contract import Effects, NodeId, Stimulus
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.hops import Hops, calendar_of_zero
from siftcast.runtimes.live.node.recording import Recorder


class NodeMemory:
    """A recorder and the hops, where the configuration asks for them."""

    def __init__(self, file: ConfigurationFile, node: NodeId, log: Logger) -> None:
        recording, rows_max = file.configuration.recording, file.configuration.tracing.rows_max
        self._recorder = None if recording is None else Recorder(node, file.beside(recording.folder))
        self._hops = Hops(rows_max, calendar_of_zero()) if rows_max else None
        self._log = log
        self.is_kept = self._recorder is not None or self._hops is not None
        """Whether there is anything to be noted."""

    def note(self, stimulus: Stimulus, effects: Effects, now: float) -> None:
        """Remembers what happened and what came of it."""
        try:
            if self._recorder is not None:
                self._recorder.note(stimulus, effects, now)
            if self._hops is not None:
                self._hops.note(stimulus, effects, time.monotonic() * 1_000)
        except Exception as error:
            self._log.error("defect", error=str(error), exc_info=error)

    def hops_of(
        self,
        event: str,
        names: Mapping[NodeId, str],
        filter_of: Callable[[str], Filter | None],
        shown: Callable[[str], str],
    ) -> list[Mapping[str, Any]]:
        """What is remembered of an event."""
        return [] if self._hops is None else self._hops.of(event, names, filter_of, shown)

    def save(self) -> None:
        """Writes the trace, if there is one."""
        if self._recorder is not None:
            self._recorder.save()
