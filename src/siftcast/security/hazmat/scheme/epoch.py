"""The secrets of an epoch, derived from a seed, and what of them publishers and subscribers are told.

    α           opens events          g^α, and with g₂ the value A = e(g^α, g₂)
    α_p         signs events          g^α_p, and A_p
    φ           binds a conjunction   h = g^φ
    φ_s         searches              hs = g^φ_s; a key of its own, or else CT2 would open the tags of events
    y′, y₁ …    the Waters hash       u′ = g^y′, u_k = g^y_k
    K_e         keys the labels       to publishers only

The seed of the next epoch is derived from that of this one, which is then forgotten: who takes the seed opens nothing
older. What makes a key different from the next (γ, x, c) is never derived from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import msgspec

from siftcast.security.hazmat.groups import G1, G1_BYTES, G2, GT, Groups, PointError
from siftcast.security.hazmat.hidden import Hidden
from siftcast.security.hazmat.scheme.randomness import expand, scalar_of
from siftcast.security.hazmat.scheme.scope import Scope, second_generator
from siftcast.security.hazmat.scheme.waters import BITS, WatersHash
from siftcast.security.hazmat.secret import SECRET_BYTES, Secret

SCALARS: Final = "alpha", "alpha_p", "phi", "phi_s"


class PublicPoints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What publishers are told, as it is sent; subscribers get `signing` alone."""

    opening: bytes
    signing: bytes
    binding: bytes
    searching: bytes
    waters: bytes


class EpochSecrets(Hidden):
    """What the key server knows of an epoch."""

    def __init__(self, groups: Groups, seed: Secret, scope: Scope) -> None:
        def derived(*name: bytes) -> int:
            return scalar_of(expand(seed.reveal(), scope.context(b"secret", *name)))

        self.groups = groups
        self.scope = scope
        self.alpha, self.alpha_p, self.phi, self.phi_s = (derived(name.encode()) for name in SCALARS)
        self.first = derived(b"y", b"")
        self.others = [derived(b"y", place.to_bytes(2, "big")) for place in range(BITS)]
        self.label_key = Secret(expand(seed.reveal(), scope.context(b"label key"))[:SECRET_BYTES])
        self.second = second_generator(groups)

    def public(self) -> PublicPoints:
        """What of it is public, or told to publishers."""
        groups = self.groups

        def point(scalar: int) -> bytes:
            return groups.write1(groups.times1(groups.generator1, scalar))

        waters = b"".join(map(point, (self.first, *self.others)))
        return PublicPoints(point(self.alpha), point(self.alpha_p), point(self.phi), point(self.phi_s), waters)


def next_seed(seed: Secret) -> Secret:
    """The seed of the next epoch; this one does not follow from it."""
    return Secret(expand(seed.reveal(), b"next seed")[:SECRET_BYTES])


class VerifyingEpoch:
    """What everybody verifies with."""

    def __init__(self, groups: Groups, scope: Scope, signing: bytes) -> None:
        self.groups = groups
        self.scope = scope
        self.signing = groups.read1(signing)

    @cached_property
    def second(self) -> G2:
        """g₂."""
        return second_generator(self.groups)

    @cached_property
    def expected(self) -> GT:
        """A_p to the number of dimensions, which all signatures have in common."""
        value = self.groups.pair(self.signing, self.second)
        return self.groups.power(value, len(self.scope.dimensions))


class SealingEpoch(VerifyingEpoch):
    """What publishers seal with."""

    def __init__(self, groups: Groups, scope: Scope, points: PublicPoints, label_key: Secret) -> None:
        super().__init__(groups, scope, points.signing)
        self.opening = groups.read1(points.opening)
        self.binding = groups.read1(points.binding)
        self.searching = groups.read1(points.searching)
        self.label_key = label_key
        first, *others = _split(groups, points.waters)
        self.waters = WatersHash(groups, first, others)

    @cached_property
    def opened(self) -> GT:
        """A, of which a power is the key of each event."""
        return self.groups.pair(self.opening, self.second)


def _split(groups: Groups, data: bytes) -> Sequence[G1]:
    if len(data) != (BITS + 1) * G1_BYTES:
        raise PointError(f"the Waters hash has {BITS + 1} points of {G1_BYTES} bytes")
    return [groups.read1(data[at : at + G1_BYTES]) for at in range(0, len(data), G1_BYTES)]
