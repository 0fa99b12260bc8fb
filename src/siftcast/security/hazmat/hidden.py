"""What holds keys: it does not print them, and refuses to be pickled or copied."""

from __future__ import annotations

from typing import NoReturn

from siftcast.security.errors import KeyRingError


class Hidden:
    """Base of all that holds secrets."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyRingError("keys are not pickled or copied; hand over their file, by a safe way")
