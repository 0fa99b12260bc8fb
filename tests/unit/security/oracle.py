"""py_ecc, an implementation that is slow and obvious.

Importing it raises Python's recursion limit for the whole process, in which other tests count on `RecursionError` where
something nests too deep. So the limit is put back, and raised while something of py_ecc's runs that recurses.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LIMIT = sys.getrecursionlimit()

from py_ecc.bls.hash_to_curve import hash_to_G1, hash_to_G2  # noqa: E402
from py_ecc.optimized_bls12_381 import normalize  # noqa: E402

sys.setrecursionlimit(_LIMIT)

__all__ = ["deep", "hash_to_G1", "hash_to_G2", "normalize"]


@contextmanager
def deep() -> Iterator[None]:
    """As deep as powers in large fields go."""
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(_LIMIT)
