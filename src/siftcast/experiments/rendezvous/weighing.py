"""What nodes send with events, in bytes as they would be on the wire: messages are counted, and lists are not free.

Each message is encoded once with the codec of its scheme and counted for each destination; a network multicast counts
once, as its sender sends it once. Frames and acknowledgements of the transport are left out.
"""

from __future__ import annotations

from typing import Any

from siftcast.overlays.contract import Effects, PublishRequested, SendMessage, Stimulus
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.runtimes.sim import Simulation


class Scales:
    """The sums over all nodes."""

    def __init__(self, codec: MessageCodec) -> None:
        self._codec = codec
        self.event_bytes = self.upload_bytes = 0
        """Of all messages with events, and of those that went out where their event was published."""

    def weigh(self, effect: SendMessage, own: set[str]) -> None:
        """Counts what a node sends; `own` are the events that were published there."""
        event = effect.message.event_id
        if event is None:
            return
        copies = 1 if effect.multicast else len(effect.destinations)
        size = copies * len(self._codec.encode(effect.message))
        self.event_bytes += size
        self.upload_bytes += size if event in own else 0


class Weighed:
    """A protocol whose messages are weighed as it sends them."""

    def __init__(self, protocol: Any, scales: Scales) -> None:
        self._protocol = protocol
        self._scales = scales
        self._own: set[str] = set()

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        """Does what the protocol does."""
        if type(stimulus) is PublishRequested:
            self._own.add(str(stimulus.event.id))
        effects: Effects = self._protocol.handle(stimulus, now)
        for effect in effects:
            if type(effect) is SendMessage:
                self._scales.weigh(effect, self._own)
        return effects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)


def weigh(simulation: Simulation, codec: MessageCodec) -> Scales:
    """Puts all nodes on the scales, before they do anything."""
    scales = Scales(codec)
    for node, protocol in simulation.protocols.items():
        simulation.protocols[node] = Weighed(protocol, scales)  # type: ignore[assignment]
    return scales
