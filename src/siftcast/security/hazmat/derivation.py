"""From the secret of a group's epoch to the key of one message, and to a commitment to that key.

    (key, commitment) = HKDF-Expand-SHA512(secret, enc(context, group, epoch, salt, SHA-256(clear)), 64 bytes)

The secret is 32 uniform bytes, so HKDF needs no extraction, and 64 bytes are one block: one HMAC a message. Each
message has a key of its own, so the AEAD's nonce is constant and cannot repeat. The commitment is compared before
anything is decrypted: ChaCha20-Poly1305 alone lets a ciphertext be made that opens differently under two keys.

The salt is hedged: a keyed hash of fresh randomness and of what is sealed. If the machine's randomness repeats, equal
messages may share a key, and different ones do not.

Rejected: one key for all messages of a batch, which saves 2 µs a message, and makes the nonce matter again.
"""

from __future__ import annotations

import hashlib
from hmac import compare_digest

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.hmac import HMAC

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.secret import Secret

SALT_BYTES = COMMITMENT_BYTES = 32
TAG_BYTES = 16
_KEY_CONTEXT = b"siftcast sealed payload 1: key"
_SALT_CONTEXT = b"siftcast salt 1"
_FIRST_BLOCK = b"\x01"
_NONCE = bytes(12)


class EpochKey:
    """The secret of an epoch, ready to be used."""

    __slots__ = ("_begun", "epoch", "group")

    def __init__(self, secret: Secret, group: bytes, epoch: int) -> None:
        self.group = group
        self.epoch = epoch
        self._begun = HMAC(secret.reveal(), SHA512())
        # What all messages of the epoch begin with is hashed once.
        self._begun.update(enc(_KEY_CONTEXT, group, epoch.to_bytes(4, "big")))

    def message_key(self, salt: bytes, clear_digest: bytes) -> tuple[bytes, bytes]:
        """The key of a message, and the commitment to it."""
        expanding = self._begun.copy()
        expanding.update(enc(salt, clear_digest) + _FIRST_BLOCK)
        block = expanding.finalize()
        return block[:32], block[32:]

    def __repr__(self) -> str:
        return f"EpochKey({self.group!r}, {self.epoch}, hidden)"


def hedged_salt(seed: Secret, randomness: bytes, leaf: bytes) -> bytes:
    """A salt that is fresh as long as the randomness or the message is; `leaf` stands for all that is signed."""
    return hashlib.blake2b(randomness + leaf, digest_size=SALT_BYTES, key=seed.reveal(), person=_SALT_CONTEXT).digest()


def encrypt(key: bytes, inside: bytes, clear: bytes) -> bytes:
    """The ciphertext and its tag; `clear` is what goes with it unencrypted, and cannot be altered either."""
    return ChaCha20Poly1305(key).encrypt(_NONCE, inside, clear)


def check_commitment(expected: bytes, found: bytes) -> None:
    """Raises UnopenedError unless the key is the one that the message was made with."""
    if not compare_digest(expected, found):
        raise UnopenedError("altered", "the sealed payload was altered, or moved to another event, or is of other keys")


def decrypt(key: bytes, ciphertext: bytes, clear: bytes) -> bytes:
    """What was encrypted; raises UnopenedError."""
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, ciphertext, clear)
    except InvalidTag:
        raise UnopenedError("altered", "the sealed payload was altered") from None
