"""The groups of BLS12-381 and their pairing, behind one small contract, so that the library below can be replaced.

contract.py         what a backend can do, and the form of points as bytes
mcl.py              the fast one (pymcl); it has wheels for Python 3.11 and 3.12
arkworks.py         the other one (py-arkworks-bls12381), which is complete, and two to nine times slower
counting.py         a backend that counts pairings, because they are what all costs come down to

Both backends are of the extra `siftcast[security]`. They have the same bytes for the same points, and the same value
for the same pairing, so keys and events of one are good for the other.
"""

from __future__ import annotations

from functools import cache

from siftcast.security.errors import MissingExtraError
from siftcast.security.hazmat.groups.contract import G1, G1_BYTES, G2, G2_BYTES, GT, ORDER, Groups, PointError
from siftcast.security.hazmat.groups.counting import CountedGroups


@cache
def find_groups() -> Groups:
    """The fastest backend that is installed; raises MissingExtraError if there is none."""
    try:
        from siftcast.security.hazmat.groups.mcl import MclGroups

        return MclGroups()
    except ImportError:
        pass  # no wheel for this Python: the other one does all of it
    try:
        from siftcast.security.hazmat.groups.arkworks import ArkworksGroups

        return ArkworksGroups()
    except ImportError:
        raise MissingExtraError(
            "sealing whole events needs pairings, which are not installed: pip install 'siftcast[security]'"
        ) from None


__all__ = ["G1", "G1_BYTES", "G2", "G2_BYTES", "GT", "ORDER", "CountedGroups", "Groups", "PointError", "find_groups"]
