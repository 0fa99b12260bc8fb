"""What can go wrong between a node, its peers and its clients. Codes travel in `Failure` frames and stay stable.

Errors that a client meets are rebuilt from their code (`failure_error`), so `except Refused` works on both sides.
"""

from __future__ import annotations

from siftcast.model.errors import EventError, FilterError, SiftcastError, SubscriptionError
from siftcast.model.toml_files import TomlFileError


class LiveError(SiftcastError):
    """The root of all errors of the live network."""

    code = "live"


class ConfigurationError(TomlFileError, LiveError):
    """A configuration file cannot be used."""

    code = "configuration"


class FrameError(LiveError):
    """Bytes on a connection are not what was agreed: malformed, too large, or out of turn."""

    code = "frame"


class DamagedFrame(FrameError):
    """Bytes were altered between the two ends: the checksum of a frame is not that of what came."""

    code = "damaged-frame"


class VersionError(LiveError):
    """The two ends speak different versions."""

    code = "version"


class ConnectionLost(LiveError):
    """A connection broke, or could not be made; what was waiting for an answer may or may not have been done."""

    code = "connection-lost"


class Refused(LiveError):
    """The node understood a request and did not accept it."""

    code = "refused"


class Unauthorised(LiveError):
    """Whoever connected did not show a token that the node knows, or not one for what it says it is."""

    code = "unauthorised"


class TokenExpired(Unauthorised):
    """The token that was shown, or that a connection was made with, has expired."""

    code = "token-expired"


class TooManyFailedLogins(LiveError):
    """Too many logins from one address failed, or too many in all: none is looked at for a while, right or wrong."""

    code = "too-many-failed-logins"


class Forbidden(LiveError):
    """The node knows who asks, and its configuration does not allow this to them."""

    code = "forbidden"


class UntrustedNode(LiveError):
    """The other end of an encrypted connection could not prove that it is the node that was called."""

    code = "untrusted-node"


class SlowConsumer(LiveError):
    """A subscriber did not keep up, and the node's policy is to disconnect those."""

    code = "slow-consumer"


class DurabilityUnavailable(LiveError):
    """Something durable was asked of a node that keeps nothing."""

    code = "durability-unavailable"


class Superseded(LiveError):
    """Another client took over a durable subscription; of one name there is one reader at a time."""

    code = "superseded"


class StoreError(LiveError):
    """The store cannot be opened or written; says which file and what to do."""

    code = "store"


class NetworkMismatch(LiveError):
    """A node was met that is not the one that was meant: of another network, or under a name that is not its own."""

    code = "network-mismatch"


LEFT = "left the network"
"""What a node says to its clients, and its process on standard output, when it has left for good."""

FINAL_CODES = frozenset({VersionError.code, Unauthorised.code, TokenExpired.code, UntrustedNode.code})
"""Failures of a connection that calling again would not change."""

FINAL_GREETINGS = FINAL_CODES | {Refused.code}
"""Answers to a Hello that the same Hello would be given again. One connection too many is not among them."""

_BY_CODE: dict[str, type[SiftcastError]] = {
    kind.code: kind
    for kind in (
        LiveError, FrameError, DamagedFrame, VersionError, ConnectionLost, Refused, Unauthorised, TokenExpired,
        TooManyFailedLogins, Forbidden, UntrustedNode, SlowConsumer, DurabilityUnavailable, Superseded, StoreError,
        NetworkMismatch, EventError, FilterError, SubscriptionError,
    )
}  # fmt: skip


def failure_error(code: str, message: str) -> SiftcastError:
    """The error behind a `Failure` frame; an unknown code is a `LiveError` that names it."""
    if code.startswith("filter"):  # the kinds of filter errors carry more than a message
        return FilterError(message)
    kind = _BY_CODE.get(code)
    return kind(message) if kind is not None else LiveError(f"{message} ({code})")
