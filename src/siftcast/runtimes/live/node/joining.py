"""Joining a network: asking a node of it (a *seed*) what one must know to be one of its nodes.

The seed's answer (`Invitation`) is kept in the data folder, so that a node that was one of the network before starts
again even if no seed is there. What calling again may change is tried again, with waits that double from 100 ms to 5 s,
and said once: a seed that is down, unknown to the name service, full, or that begins again. What it would not change
ends the node with words: another network than the one that was meant, another version, a certificate that proves
nothing, no right to join, something at that address that is no node.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from contextlib import suppress
from pathlib import Path

import msgspec

from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import (
    FrameError,
    LiveError,
    NetworkMismatch,
    Refused,
    Unauthorised,
    UntrustedNode,
    VersionError,
    failure_error,
)
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.calling import Line, dial_node
from siftcast.runtimes.live.node.configuration import ConfigurationFile, JoinSpec
from siftcast.runtimes.live.node.layout import check_version
from siftcast.runtimes.live.storage.private_files import make_file, make_folder
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import OLDEST, VERSION, Failure, Frame, Heartbeat, Hello
from siftcast.runtimes.live.wire.node_frames import Invitation

FILE = "invitation"
ANSWER_WAIT_S = 10.0
_WAIT_MIN_S, _WAIT_MAX_S = 0.1, 5.0
_FINAL = (NetworkMismatch, Refused, Unauthorised, UntrustedNode, VersionError, FrameError)
"""What calling again would not change."""


class Invited(msgspec.Struct, frozen=True):
    """An answer, and where it came from."""

    invitation: Invitation
    seed: str


async def ask_to_join(file: ConfigurationFile, line: Line, identity: NodeId, log: Logger) -> Invited:
    """What a node of the network answers, now or before; raises LiveError if none ever will."""
    join = file.configuration.join
    assert join is not None, "the configuration names seeds"
    kept, wait_s, told = _read(file), _WAIT_MIN_S, ""
    while True:
        reasons = []
        for seed in join.seeds:
            try:
                invitation = await _ask(file, line, identity, seed)
                _check(file, join, invitation, seed, identity)
            except _FINAL as error:
                if kept is None or not isinstance(error, FrameError):
                    raise LiveError(f"cannot join through {seed}: {error}") from None
                reasons.append(f"{seed}: {error}")
            except UnicodeError as error:
                raise LiveError(f"cannot join through {seed}: it is no name of a host ({error})") from None
            except (SiftcastError, OSError) as error:  # an SSLError and a TimeoutError are OSErrors
                reasons.append(f"{seed}: {_words(error)}")
            else:
                found = Invited(invitation, seed)
                _keep(file, found, log)
                return found
        reason = "; ".join(reasons)
        if kept is not None:
            log.warning("no seed answers", reason=reason, remedy="the node starts with what it knew before")
            return kept
        if reason != told:
            told = reason
            log.warning("no seed answers", reason=reason, remedy="it is called again until it does")
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, _WAIT_MAX_S)


async def ask_again(file: ConfigurationFile, line: Line, identity: NodeId) -> list[Invited]:
    """What the seeds answer that do; each is asked once."""
    join = file.configuration.join
    found = []
    for seed in () if join is None else join.seeds:
        with suppress(SiftcastError, OSError, UnicodeError):  # what is wrong with a seed was said at the beginning
            invitation = await _ask(file, line, identity, seed)
            if join is not None:
                _check(file, join, invitation, seed, identity)
            found.append(Invited(invitation, seed))
    return found


async def _ask(file: ConfigurationFile, line: Line, identity: NodeId, seed: str) -> Invitation:
    name = file.configuration.node.name
    hello = Hello(VERSION, "joiner", name, line.token, oldest=OLDEST["joiner"], identity=identity)
    asking = _Asking(line, hello, asyncio.get_running_loop().create_future())
    try:
        async with asyncio.timeout(ANSWER_WAIT_S):  # `wait_for` can lose a cancellation to what it waits for
            await dial_node(line, seed)(lambda: asking.connection)
            return await asking.answer
    finally:
        asking.connection.abort("asked")


def _check(file: ConfigurationFile, join: JoinSpec, invitation: Invitation, seed: str, identity: NodeId) -> None:
    """Raises NetworkMismatch or VersionError if this is no network to join."""
    if not OLDEST["joiner"] <= invitation.version <= VERSION:
        raise VersionError(f"it speaks version {invitation.version}, this node {VERSION}")
    check_version(invitation.scheme, invitation.version, f"node '{invitation.name}'")
    if join.network not in (None, invitation.network):
        raise NetworkMismatch(f"it is a node of network '{invitation.network}', not of '{join.network}'")
    if invitation.durable and file.configuration.node.data is None:
        raise NetworkMismatch(
            f"network '{invitation.network}' keeps durable events; name a folder with --data, or as data in [node]"
        )
    if invitation.identity == identity:
        raise NetworkMismatch(f"node '{invitation.name}' there has the identity of this one; use another data folder")


def _words(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused, so no node listens there"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as this node does ({error.strerror or error}); all nodes have [tls], or none"
    if isinstance(error, TimeoutError):
        return f"no answer within {ANSWER_WAIT_S:g} s"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


class _Asking:
    """A call to a seed."""

    def __init__(self, line: Line, hello: Hello, answer: asyncio.Future[Invitation]) -> None:
        self.name = ""
        self.answer = answer
        self.connection: Connection = line.connection(lambda _: self)
        self.connection.send(hello)

    def connection_opened(self) -> None:
        """The Hello is on its way already."""

    def frame_received(self, frame: Frame) -> None:
        match frame:
            case Invitation():
                if not self.answer.done():
                    self.answer.set_result(frame)
                self.connection.close("answered")
            case Failure(_, code, message):
                self._fail(failure_error(code, message))
                self.connection.close(message)
            case Heartbeat():
                pass
            case _:
                raise FrameError(f"an Invitation was expected, not {type(frame).__name__}")

    def connection_closed(self, reason: str) -> None:
        error = self.connection.error
        if isinstance(error, FrameError):
            self._fail(FrameError(f"what answers there is no node of Siftcast, or none without TLS ({error})"))
        self._fail(
            error if error is not None else ConnectionError(f"it hung up ({reason}); all nodes have [tls], or none")
        )

    def _fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # looked at, should nobody else do so

    def writing_resumed(self) -> None:
        """Nothing waits for it."""


# -- what is kept ------------------------------------------------------------------------------------


def invited_file(file: ConfigurationFile, invitation: Invitation) -> ConfigurationFile:
    """The configuration of a node that joins, with the network in it that it was invited to."""
    spec = file.configuration
    overlay = msgspec.structs.replace(
        spec.overlay, network=invitation.network, scheme=invitation.scheme, options=invitation.options
    )
    return msgspec.structs.replace(file, configuration=msgspec.structs.replace(spec, overlay=overlay))


def _path(file: ConfigurationFile) -> Path | None:
    data = file.configuration.node.data
    return None if data is None else file.beside(data) / FILE


def kept_invitation(file: ConfigurationFile) -> Invited | None:
    """What a node was told when it joined, for one that starts again without naming a seed; a list counts more."""
    return None if file.configuration.overlay.nodes else _read(file)


def _read(file: ConfigurationFile) -> Invited | None:
    path = _path(file)
    if path is None:
        return None
    with suppress(OSError, msgspec.DecodeError):  # a node without it asks again
        kept = msgspec.json.decode(path.read_bytes(), type=Invited)
        join = file.configuration.join
        if join is None or join.network in (None, kept.invitation.network):
            return kept
    return None


def _keep(file: ConfigurationFile, found: Invited, log: Logger) -> None:
    path = _path(file)
    if path is None:
        return
    fresh = path.with_name(f"{FILE}.{secrets.token_hex(4)}")
    try:
        make_folder(path.parent)
        make_file(fresh)
        fresh.write_bytes(msgspec.json.encode(found) + b"\n")
        fresh.replace(path)
    except OSError as error:
        log.warning("invitation not kept", reason=error.strerror or str(error), file=str(path))
