"""Either end of a connection between two nodes that know each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import FrameError
from siftcast.runtimes.live.node.coordinates import Coordinates
from siftcast.runtimes.live.wire.connection import Connection, Handler
from siftcast.runtimes.live.wire.frames import Failure, Frame, Heartbeat
from siftcast.runtimes.live.wire.node_frames import (
    AgesWanted,
    Farewell,
    Forgotten,
    PeerAnswer,
    PeerMessage,
    PeerQuestion,
    Unneeded,
)


class Hearing(Protocol):
    """Who deals with what other nodes say."""

    coordinates: Coordinates

    def name_of(self, number: NodeId) -> str: ...

    def take(self, number: NodeId, frame: PeerMessage) -> None: ...

    def on_question(self, number: NodeId, frame: PeerQuestion | PeerAnswer, /) -> None: ...

    def echoed(self, number: NodeId, frame: Heartbeat) -> None: ...

    def used(self, number: NodeId) -> None: ...

    def unneeded(self, number: NodeId) -> None: ...

    def gone(self, number: NodeId) -> None: ...

    def declare_gone(self, numbers: Iterable[NodeId]) -> None: ...

    def ages_wanted(self, frame: AgesWanted, /) -> None: ...

    def lost(self, connection: Connection, number: NodeId, reason: str) -> None: ...


class PeerHandler:
    """The end of a node that watches the other."""

    def __init__(self, peers: Hearing, connection: Connection, number: NodeId, before: Handler) -> None:
        self.name = peers.name_of(number)
        self._peers = peers
        self._connection = connection
        self._number = number
        self._before: Handler = before._before if isinstance(before, PeerHandler) else before

    def connection_opened(self) -> None:
        """It was open before both knew each other."""

    def frame_received(self, frame: Frame) -> None:
        kind = type(frame)
        if kind is PeerMessage:
            self._peers.take(self._number, frame)  # type: ignore[arg-type]
        elif isinstance(frame, Heartbeat):
            if frame.echo:
                self._connection.send(Heartbeat(frame.number, coordinate=self._peers.coordinates.said()))
            elif frame.number:
                self._peers.echoed(self._number, frame)
        elif isinstance(frame, PeerQuestion | PeerAnswer):
            self._peers.on_question(self._number, frame)
        elif isinstance(frame, Unneeded):
            self._peers.unneeded(self._number)
        elif isinstance(frame, Farewell):
            self._peers.gone(self._number)
        elif isinstance(frame, Forgotten):
            self._peers.declare_gone(frame.identities)
        elif isinstance(frame, AgesWanted):
            self._peers.ages_wanted(frame)
        elif isinstance(frame, Failure):
            self._connection.close(f"{frame.message} ({frame.code})")
        else:
            raise FrameError(f"a node does not send {kind.__name__} at this point")

    def connection_closed(self, reason: str) -> None:
        self._peers.lost(self._connection, self._number, reason)
        self._before.connection_closed(reason)

    def writing_resumed(self) -> None:
        """Nothing waits for it: what did not fit was dropped."""


class GuestHandler(PeerHandler):
    """The end of a node that does not watch the other, and so notes when the connection is used."""

    def frame_received(self, frame: Frame) -> None:
        if type(frame) is PeerMessage:
            self._peers.used(self._number)
        super().frame_received(frame)
