"""A signature for each dimension, on the pairing that Siftcast uses, and three ways to check them.

    S1ᵢ = P1ᵢ + tᵢ·m, S2ᵢ = P2ᵢ, S3ᵢ = g^tᵢ
    one by one     e(g, S1ᵢ) = A_p · e(S2ᵢ, HPᵢ) · e(S3ᵢ, m)
    product        the product of all these: what cancels out passes, so that this is no check
    combined       the product with exponents that the verifier draws, of 128 bits: 3 pairings with one S2, else d + 2

It is what chapter 5 means by its combined verification, done so that it holds. The scheme that is used has one
signature for all dimensions, which is smaller and needs no randomness to verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from siftcast.security.hazmat.groups import G1, G2, GT, ORDER, Groups

_RANDOMIZER_BITS = 128


@dataclass(frozen=True, slots=True)
class Components:
    """What is sent for each dimension; one S2 where all dimensions have the same."""

    first: tuple[G2, ...]
    second: tuple[G1, ...]
    third: tuple[G1, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """What components are checked against: hashes of the claimed credentials, and of the message."""

    hashed: tuple[G2, ...]
    message: G2
    master: GT


def sign_components(groups: Groups, random: Random, keys: Sequence[tuple[G2, G1]], message: G2) -> Components:
    """With P1 and P2 of each dimension."""
    scalars = [random.randrange(1, ORDER) for _ in keys]
    return Components(
        tuple(groups.sum2((key, groups.times2(message, t))) for (key, _), t in zip(keys, scalars, strict=True)),
        tuple(common for _, common in keys),
        tuple(groups.times1(groups.generator1, t) for t in scalars),
    )


def verify_one_by_one(groups: Groups, components: Components, claim: Claim) -> bool:
    """Each for itself."""
    return all(
        groups.same(_value(groups, [first], [(second, hashed)], [third], claim.message), claim.master)
        for first, second, third, hashed in zip(
            components.first, components.second, components.third, claim.hashed, strict=True
        )
    )


def verify_product(groups: Groups, components: Components, claim: Claim) -> bool:
    """All at once, without randomizers: not a check."""
    return _verify_weighted(groups, components, claim, [1] * len(components.first))


def verify_combined(groups: Groups, components: Components, claim: Claim, random: Random) -> bool:
    """All at once, with exponents that the signer cannot foresee."""
    weights = [random.getrandbits(_RANDOMIZER_BITS) | 1 << (_RANDOMIZER_BITS - 1) for _ in components.first]
    return _verify_weighted(groups, components, claim, weights)


def _verify_weighted(groups: Groups, components: Components, claim: Claim, weights: Sequence[int]) -> bool:
    first = [groups.times2(each, weight) for each, weight in zip(components.first, weights, strict=True)]
    third = [groups.times1(each, weight) for each, weight in zip(components.third, weights, strict=True)]
    hashed = [groups.times2(each, weight) for each, weight in zip(claim.hashed, weights, strict=True)]
    if len({groups.write1(each) for each in components.second}) == 1:
        pairs = [(components.second[0], groups.sum2(hashed))]
    else:
        pairs = list(zip(components.second, hashed, strict=True))
    value = _value(groups, first, pairs, third, claim.message)
    return groups.same(value, groups.power(claim.master, sum(weights)))


def _value(
    groups: Groups, first: Sequence[G2], labels: Sequence[tuple[G1, G2]], third: Sequence[G1], message: G2
) -> GT:
    negated = [(second, groups.minus2(hashed)) for second, hashed in labels]
    return groups.pair_all(
        [(groups.generator1, groups.sum2(first)), *negated, (groups.sum1(third), groups.minus2(message))]
    )
