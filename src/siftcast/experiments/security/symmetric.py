"""A pairing of one group with itself, as chapter 5 assumes it, on groups that have no such thing.

An element is a pair (g^x, g~^x). Pairing two of them takes the first half of one and the second of the other. All that
the thesis does is kept; hashing to an element is not possible without its exponent, so hashes are g^hash here. That
gives trapdoors away (attack A13), and nothing else: the other attacks do not use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from siftcast.security.hazmat.groups import G1, G2, GT, ORDER, Groups, find_groups

GROUPS: Groups = find_groups()


@dataclass(frozen=True, slots=True)
class Element:
    """An element, written multiplicatively as in the thesis."""

    left: G1
    right: G2

    def __mul__(self, other: Element) -> Element:
        return Element(GROUPS.sum1((self.left, other.left)), GROUPS.sum2((self.right, other.right)))

    def __truediv__(self, other: Element) -> Element:
        return self * other**-1

    def __pow__(self, exponent: int) -> Element:
        return Element(GROUPS.times1(self.left, exponent), GROUPS.times2(self.right, exponent))

    def to_bytes(self) -> bytes:
        """Both halves."""
        return GROUPS.write1(self.left) + GROUPS.write2(self.right)


GENERATOR = Element(GROUPS.generator1, GROUPS.generator2)


def pair(one: Element, other: Element) -> GT:
    """e(one, other)."""
    return GROUPS.pair(one.left, other.right)


def product(elements: Iterable[Element]) -> Element:
    """All of them multiplied."""
    return reduce(lambda one, other: one * other, elements)


def values(factors: Iterable[GT]) -> GT:
    """Values multiplied."""
    return reduce(GROUPS.product, factors)


def inverse(value: GT) -> GT:
    """One over a value."""
    return GROUPS.power(value, ORDER - 1)
