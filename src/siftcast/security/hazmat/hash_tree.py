"""One signature for many events: a tree of hashes whose root is signed.

                 root                    Each event carries the signature and its path: the hashes beside its way
               /      \\                  up, here b and cd for event a. Who has a, b and cd computes the root.
             ab        cd
            /  \\      /  \\               An odd one out goes up as it is.
           a    b    c    d

An Ed25519 signature takes 19 µs to make and 59 to verify, a hash 0.4. Leaves and inner hashes begin with different
bytes, so that neither passes for the other. A reader remembers the hashes that it found under a signature: of events
that were signed together, the first costs a verification, and each other about one hash more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from struct import Struct

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.signatures import SIGNATURE_BYTES, SigningKey, VerifyingKey

HASH_BYTES = 32
DEPTH_MAX = 16
BATCH_MAX = 1 << DEPTH_MAX
DEPTH_PLACE = SIGNATURE_BYTES
"""Where in a proof its depth is."""
_ROOT_CONTEXT = b"siftcast sealed payload 1: root"
LEAF, _INNER = b"\x00", b"\x01"
"""What leaves and other hashes begin with."""
_PROOF = Struct(f">{SIGNATURE_BYTES}sBH")
PROOF_BYTES_MIN = _PROOF.size
_REMEMBERED = 4_096


def _joined(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_INNER + left + right).digest()


class HashTree:
    """The tree over the leaves of a batch."""

    __slots__ = ("_levels", "root")

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._levels: list[list[bytes]] = []
        below = list(leaves)
        while len(below) > 1:
            self._levels.append(below)
            above = [_joined(below[place], below[place + 1]) for place in range(0, len(below) - 1, 2)]
            below = above + below[len(below) & ~1 :]
        (self.root,) = below

    def proofs(self, key: SigningKey) -> list[bytes]:
        """For each leaf the signature of the root, the depth, the sides and the path.

        `sides` has a bit for each step, the lowest first: 1 where the hash beside the way is on the left.
        """
        signature = key.sign(enc(_ROOT_CONTEXT, self.root))
        return [self._proof(signature, place) for place in range(len(self._levels[0]) if self._levels else 1)]

    def _proof(self, signature: bytes, place: int) -> bytes:
        path: list[bytes] = []
        sides = 0
        for level in self._levels:
            if (beside := place ^ 1) < len(level):
                sides |= (place & 1) << len(path)
                path.append(level[beside])
            place >>= 1
        return _PROOF.pack(signature, len(path), sides) + b"".join(path)


class Verifier:
    """Verifies proofs of one publisher."""

    __slots__ = ("_fresh", "_key", "_older")

    def __init__(self, key: VerifyingKey) -> None:
        self._key = key
        self._fresh: set[bytes] = set()
        self._older: set[bytes] = set()

    def verify(self, leaf: bytes, proof: bytes) -> None:
        """Raises UnopenedError unless the publisher signed a tree with this leaf."""
        fresh, older = self._fresh, self._older
        if leaf in fresh or leaf in older:
            return
        signature, depth, sides = _PROOF.unpack_from(proof)
        if depth > DEPTH_MAX or sides >> depth:
            raise UnopenedError("malformed", "the path to the signature is malformed")
        node, found = leaf, [leaf]
        for place in range(_PROOF.size, len(proof), HASH_BYTES):
            beside = proof[place : place + HASH_BYTES]
            node = _joined(beside, node) if sides & 1 else _joined(node, beside)
            sides >>= 1
            found += (beside, node)
            if node in fresh or node in older:
                break
        else:
            self._key.verify(signature, enc(_ROOT_CONTEXT, node))
        fresh.update(found)
        if len(fresh) > _REMEMBERED:
            self._fresh, self._older = set(), fresh
