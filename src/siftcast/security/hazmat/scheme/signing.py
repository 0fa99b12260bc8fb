"""One signature for all dimensions, of constant size, checked in three pairings.

    S1 = Σ P1ᵢ + t·m, S2 = P2, S3 = g^t       m hashes all that is vouched for
    e(g, S1) = A_p^d · e(S2, Σ HPᵢ) · e(S3, m)

The printed check multiplies over the dimensions, and its cross terms fail for honest events of two dimensions or more;
with the terms put right, whoever has one credential signs for any. Here one c for an advertisement makes the sum right,
and the advertisement's id inside of the hashes keeps those of two from being mixed. t is fresh, and is not bᵢ: who
learns bᵢ would have the publisher's key.
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.model.bounded_cache import remember
from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G1, G2, Groups, PointError
from siftcast.security.hazmat.scheme.epoch import VerifyingEpoch
from siftcast.security.hazmat.scheme.event_form import EventInside, Signature
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.scope import MESSAGE, PUBLISHER, Path, Scope

_REMEMBERED = 4_096


def message_point(groups: Groups, scope: Scope, hashed: bytes, inside: EventInside, credentials: Sequence[Path]) -> G2:
    """The hash of all that a publisher vouches for; the signature in `inside` is no part of it."""
    row = enc(*(enc(*path) for path in credentials))
    number = inside.number.to_bytes(8, "big")
    return groups.hash2(MESSAGE, scope.context(b"MSG", hashed, inside.aid, row, inside.run, number, inside.body))


def sign(groups: Groups, stream: HedgedStream, keys: Sequence[G2], common: G1, message: G2) -> Signature:
    """A signature with a publisher's key for each dimension; the stream must be one of its own."""
    t = stream.scalar()
    first = groups.sum2((*keys, groups.times2(message, t)))
    third = groups.times1(groups.generator1, t)
    return Signature(groups.write2(first), groups.write1(common), groups.write1(third))


class SignatureVerifier:
    """Verifies signatures of one epoch; remembers the hashes of advertised credentials."""

    def __init__(self, epoch: VerifyingEpoch) -> None:
        self._epoch = epoch
        self._known: dict[tuple[bytes, int, Path], G2] = {}

    def _hashed(self, aid: bytes, dimension: int, path: Path) -> G2:
        key = aid, dimension, path
        found = self._known.get(key)
        if found is None:
            label = self._epoch.scope.publisher_label(aid, dimension, path)
            found = self._epoch.groups.hash2(PUBLISHER, label)
            remember(self._known, key, found, _REMEMBERED)
        return found

    def verify(self, inside: EventInside, hashed: bytes, credentials: Sequence[Path]) -> None:
        """Raises UnopenedError unless a publisher with all these credentials signed it."""
        groups = self._epoch.groups
        try:
            first = groups.read2(inside.signature.first)
            second, third = groups.read1(inside.signature.second), groups.read1(inside.signature.third)
        except PointError as error:
            raise UnopenedError("malformed", str(error)) from None
        labels = groups.sum2(self._hashed(inside.aid, place, path) for place, path in enumerate(credentials))
        message = message_point(groups, self._epoch.scope, hashed, inside, credentials)
        value = groups.pair_all(
            [(groups.generator1, first), (second, groups.minus2(labels)), (third, groups.minus2(message))]
        )
        if not groups.same(value, self._epoch.expected):
            raise UnopenedError("forged", "the signature is not that of a publisher with these credentials")
