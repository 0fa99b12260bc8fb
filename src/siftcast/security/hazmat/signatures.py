"""Ed25519 keys. `verify` raises where a signature is wrong; there is no answer that could be overlooked."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from siftcast.security.errors import KeyRingError, UnopenedError
from siftcast.security.hazmat.secret import Secret

SIGNATURE_BYTES = 64
PUBLIC_BYTES = 32


class SigningKey:
    """The private half, made from a secret seed."""

    __slots__ = ("_key", "public", "seed")

    def __init__(self, seed: Secret) -> None:
        self.seed = seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed.reveal())
        self.public = self._key.public_key().public_bytes_raw()

    def sign(self, data: bytes) -> bytes:
        """The signature, which is the same each time: it takes no randomness that could be bad."""
        return self._key.sign(data)

    def __repr__(self) -> str:
        return "SigningKey(hidden)"


class VerifyingKey:
    """The public half."""

    __slots__ = ("_key", "public")

    def __init__(self, public: bytes) -> None:
        """Raises KeyRingError unless it is the public half of a key."""
        try:
            self._key = Ed25519PublicKey.from_public_bytes(public)
        except ValueError:
            raise KeyRingError("a publisher's public key is 32 bytes of Ed25519") from None
        self.public = public

    def verify(self, signature: bytes, data: bytes) -> None:
        """Raises UnopenedError unless the holder of the private half signed this."""
        try:
            self._key.verify(signature, data)
        except InvalidSignature:
            raise UnopenedError("forged", "the signature is not that of the publisher it names") from None
