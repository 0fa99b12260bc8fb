"""Connection requests: whoever has a credential that covers the requester's learns a secret word, and no other.

    R = g^r, SW 32 random bytes       slot(c) = AEAD under a hash of e(hs, H5(label of c))^r

There is a slot for each beginning of the credential, the root included, all with the same word: with one word for each,
the answer would tell which of them the parent has. Random bytes fill up to as many slots as any credential needs, and
the order is random. The key server makes and signs requests, each for one requester, until it expires.

A peer that opened a slot answers with a MAC under the word over what passed between the two.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G2, GT, Groups, PointError
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.epoch import EpochSecrets
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.scope import REQUEST, Path, Scope, value_hash
from siftcast.security.hazmat.signatures import SigningKey, VerifyingKey

WORD_BYTES = 32
SLOT_BYTES = WORD_BYTES + 16
EXPIRES_S_MAX = 2**63 - 1
_NONCE = bytes(12)
_WORD = b"siftcast connection request 1"


class ConnectionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What a joining peer shows to others; it says no more of its credential than the dimension."""

    epoch: int
    dimension: int
    requester: bytes
    expires_s: int
    point: bytes
    slots: tuple[bytes, ...]
    signature: bytes

    def context(self, scope: Scope) -> bytes:
        """What slots and signature are bound to."""
        expires = self.expires_s.to_bytes(8, "big")
        return scope.context(_WORD, scope.dimensions[self.dimension], self.requester, expires, self.point)


class SecretWord(Hidden):
    """The word in a request, which answers are made and checked with."""

    __slots__ = ("_word",)

    def __init__(self, word: bytes) -> None:
        self._word = word

    def answer(self, transcript: bytes, requester: bytes, parent: bytes) -> bytes:
        """The proof that one opened a slot, bound to both peers and to what passed between them."""
        return hmac.digest(self._word, enc(_WORD, transcript, requester, parent), "sha256")

    def check(self, answer: bytes, transcript: bytes, requester: bytes, parent: bytes) -> None:
        """Raises UnopenedError for the answer of a peer that opened no slot."""
        if not hmac.compare_digest(answer, self.answer(transcript, requester, parent)):
            raise UnopenedError("forged", "the peer did not open the connection request")


def _slot_key(groups: Groups, value: GT, context: bytes) -> AESGCM:
    return AESGCM(value_hash(_WORD, groups.write_value(value), context)[:32])


def make_request(
    secrets: EpochSecrets,
    stream: HedgedStream,
    signing: SigningKey,
    *,
    dimension: int,
    path: Path,
    depth: int,
    requester: bytes,
    expires_s: int,
) -> tuple[ConnectionRequest, SecretWord]:
    """A request for one credential, and the word that the requester keeps; the stream must be a fresh one."""
    groups, scope = secrets.groups, secrets.scope
    r, word = stream.scalar(), stream.take(WORD_BYTES)
    point = groups.write1(groups.times1(groups.generator1, r))
    bare = ConnectionRequest(scope.epoch, dimension, requester, expires_s, point, (), b"")
    context = bare.context(scope)
    searching = groups.times1(groups.generator1, secrets.phi_s * r)
    slots = []
    for length in range(depth + 1):
        if length > len(path):
            slots.append(stream.take(SLOT_BYTES))
            continue
        label = scope.subscriber_label(secrets.label_key, dimension, path[:length])
        key = _slot_key(groups, groups.pair(searching, groups.hash2(REQUEST, label)), context)
        slots.append(key.encrypt(_NONCE, word, context))
    slots.sort(key=lambda _: stream.take(16))
    signature = signing.sign(enc(context, *slots))
    made = msgspec.structs.replace(bare, slots=tuple(slots), signature=signature)
    return made, SecretWord(word)


def open_request(
    groups: Groups,
    scope: Scope,
    request: ConnectionRequest,
    server: VerifyingKey,
    *,
    answering: Sequence[tuple[int, G2]],
    depth: int,
    now_s: float,
) -> SecretWord | None:
    """The word, if one of the keys (D5, with their dimensions) is for a slot: one pairing for each key that is tried.

    Raises UnopenedError for a request that the server did not make, or that has expired.
    """
    if request.epoch != scope.epoch or not 0 <= request.dimension < len(scope.dimensions):
        raise UnopenedError("unknown-epoch", "the connection request is of another epoch or schema")
    if not 0 <= request.expires_s <= EXPIRES_S_MAX:
        raise UnopenedError("malformed", "the connection request does not say when it expires")
    if len(request.slots) != depth + 1 or any(len(slot) != SLOT_BYTES for slot in request.slots):
        raise UnopenedError("malformed", "the connection request does not have the slots that all have")
    context = request.context(scope)
    server.verify(request.signature, enc(context, *request.slots))
    if now_s >= request.expires_s:
        raise UnopenedError("stale-epoch", "the connection request has expired")
    try:
        point = groups.read1(request.point)
    except PointError as error:
        raise UnopenedError("malformed", str(error)) from None
    for dimension, key in answering:
        if dimension != request.dimension:
            continue
        opener = _slot_key(groups, groups.pair(point, key), context)
        for slot in request.slots:
            try:
                return SecretWord(opener.decrypt(_NONCE, slot, context))
            except InvalidTag:
                continue
    return None
