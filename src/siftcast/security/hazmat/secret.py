"""Bytes that must stay where they are: no `repr`, log, traceback, pickle or copy shows them.

They are asked for by one name, `reveal`, which is easy to look for in the code. The memory is not wiped: Python gives
no way to, and whoever reads the memory of a member has what the member has.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import NoReturn

from siftcast.security.errors import KeyRingError

SECRET_BYTES = 32


class Secret:
    """A secret of 32 bytes."""

    __slots__ = ("_bytes",)

    def __init__(self, value: bytes) -> None:
        if type(value) is not bytes or len(value) != SECRET_BYTES:
            raise KeyRingError(f"a secret has {SECRET_BYTES} bytes")
        self._bytes = value

    def reveal(self) -> bytes:
        """The bytes."""
        return self._bytes

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __eq__(self, other: object) -> bool:
        return compare_digest(self._bytes, other._bytes) if isinstance(other, Secret) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyRingError("keys are not pickled or copied; hand over the folder of the ring, by a safe way")
