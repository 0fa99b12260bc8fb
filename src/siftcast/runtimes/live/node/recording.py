"""A node's part of a trace: the tables of `overlays/trace.py`, as the simulator writes them.

Times are those of the monotonic clock, which all processes of one machine share; traces of nodes on one machine can
be put together by it (`merge_traces`). Rows are kept in memory, as columns once there are many, and written when the
node stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from siftcast.overlays.contract import (
    Deliver,
    Effect,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerLost,
    PublishRequested,
    Refuse,
    SendMessage,
    Spent,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.trace import FILES, Trace
from siftcast.runtimes.live.storage.private_files import make_file, make_folder, narrow

_ROWS_BETWEEN_SETTLING = 50_000


class Recorder:
    """Writes down what happens at one node."""

    def __init__(self, node: NodeId, folder: Path) -> None:
        self.trace = Trace()
        self._node = node
        self._folder = folder

    def note(self, stimulus: Stimulus, effects: Sequence[Effect], now_ms: float) -> None:
        """A stimulus and what came of it."""
        spent = [effect for effect in effects if isinstance(effect, Spent)]
        matches, lookups = sum(each.matches for each in spent), sum(each.lookups for each in spent)
        self._note_stimulus(stimulus, now_ms, matches, lookups)
        records = self.trace.records
        for effect in effects:
            match effect:
                case SendMessage(message, destinations):
                    name, event, overhead = type(message).__name__, message.event_id, message.overhead_bytes
                    for other in destinations:
                        records.append((now_ms, "sent", self._node, other, name, event, 0, 0, overhead))
                case Deliver(event, subscriptions):
                    self.trace.deliveries.append((now_ms, self._node, event.id, list(subscriptions)))
                case Refuse(request):
                    records.append((now_ms, "refused", self._node, None, None, request, 0, 0, 0))
        if len(records) >= _ROWS_BETWEEN_SETTLING:
            self.trace.settle()

    def _note_stimulus(self, stimulus: Stimulus, now_ms: float, matches: int, lookups: int) -> None:
        def note(kind: str, peer: NodeId | None, name: str | None, event: str | None = None, overhead: int = 0) -> None:
            self.trace.records.append((now_ms, kind, self._node, peer, name, event, matches, lookups, overhead))

        match stimulus:
            case MessageReceived(sender, message):
                note("received", sender, type(message).__name__, message.event_id, message.overhead_bytes)
            case PublishRequested(event):
                note("published", None, None, event.id)
                self.trace.events[event.id] = event
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    note("subscribed", None, self.trace.keep_subscription(item))
            case UnsubscribeRequested(ids):
                for id in ids:
                    note("unsubscribed", None, id)
            case PeerLost(peer):
                note("peer lost", peer, None)
            case PeerFound(peer):
                note("peer found", peer, None)

    def save(self) -> None:
        """Writes the trace, which has the content of events in it."""
        make_folder(self._folder)
        for name in FILES:
            make_file(self._folder / name)
            narrow(self._folder / name)
        self.trace.save(self._folder)


def merge_traces(traces: Iterable[Trace]) -> Trace:
    """The traces of the nodes of one machine as one, in order of time."""
    merged = Trace()
    for trace in traces:
        merged.records += [tuple(row.values()) for row in trace.record_table().to_pylist()]
        merged.deliveries += [tuple(row.values()) for row in trace.delivery_table().to_pylist()]
        merged.events.update(trace.events)
        merged.subscriptions.update(trace.subscriptions)
    merged.records.sort(key=lambda row: row[0])
    merged.deliveries.sort(key=lambda row: row[0])
    return merged
