"""What can be computed from what, in the generic group model: spans of exponents.

Whoever can only add and pair knows, of a wanted value, whether its exponent is a linear combination of products of the
exponents in G1 and in G2 that it has. Exponents are polynomials in the secrets; they are taken at random points modulo
a prime, and a combination that holds at enough of them holds always (Schwartz and Zippel). It is a check of finite
scenarios, and no proof.

`Scene` builds the exponents of what somebody sees: public points, keys of some subscribers and publishers, one event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from siftcast.experiments.security.linear import PRIME, Matrix, is_in_span, rank

_POINTS_BEYOND = 40
Secrets = Callable[[str], int]
World = Callable[[Secrets], tuple[Sequence[int], Sequence[int], int]]
"""From the values of secrets: exponents known in G1, those known in G2, and the wanted one in GT (0 if none)."""


def _inverse(number: int) -> int:
    return pow(number, -1, PRIME)


def _evaluate(world: World, seed: int) -> tuple[Matrix, Matrix]:
    """Products of what is known and the wanted exponent, at random points, a row each."""
    random = Random(seed)
    rows: list[list[int]] = []
    wanted: list[list[int]] = []
    while not rows or len(rows) < len(rows[0]) + _POINTS_BEYOND:
        values: dict[str, int] = {}

        def secret(name: str, values: dict[str, int] = values) -> int:
            return values.setdefault(name, random.randrange(1, PRIME))

        left, right, target = world(secret)
        rows.append([one * other % PRIME for one in left for other in right])
        wanted.append([target % PRIME])
    return np.array(rows, dtype=np.int64), np.array(wanted, dtype=np.int64)


def is_computable(world: World) -> bool:
    """Whether the wanted value follows from what is known."""
    return is_in_span(*_evaluate(world, 1))


def are_told_apart(one: World, other: World) -> bool:
    """Whether some relation holds in one world and not in the other."""
    first, second = _evaluate(one, 1)[0], _evaluate(other, 2)[0]
    return len({rank(first), rank(second), rank(np.vstack([first, second]))}) > 1


@dataclass(frozen=True, slots=True)
class Scene:
    """What an attacker sees. Labels are `A0`, `A01`: an attribute and a credential of it.

    `shared_phi` puts searching under the secret that binds conjunctions, as printed; `twin` publishes W in G2.
    """

    event: Mapping[str, Sequence[str]]
    labels: Sequence[str]
    subscribers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    publishers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    signature: bool = True
    shared_phi: bool = False
    twin: bool = False

    def known(self, v: Secrets) -> tuple[list[int], list[int], int]:
        """Exponents in G1, in G2, and b."""
        phi_s = v("phi") if self.shared_phi else v("phi_s")
        left = [1, v("alpha"), v("alpha_p"), v("phi"), phi_s, *(v("w" + each) for each in self.labels)]
        right = [1, v("z"), *(v("t" + each) for each in self.labels)]
        if self.twin:
            right += [v("w" + each) for each in self.labels]
        for name, labels in self.subscribers.items():
            right.append(v("z") * (v("gamma" + name) + v("alpha")) % PRIME * _inverse(v("phi")))
            for each in labels:
                x = v("x" + name + each)
                right += [v("z") * v("gamma" + name) + v("w" + each) * x, x, v("t" + each) * phi_s]
        for name, labels in self.publishers.items():
            left.append(v("c" + name))
            for each in labels:
                hashed = v("hp" + name + each)
                right += [hashed, v("z") * v("alpha_p") + hashed * v("c" + name)]
        b = 0
        for attribute, labels in self.event.items():
            scalar = v("b" + attribute)
            b += scalar
            left += [scalar, *(scalar * v("w" + each) for each in labels)]
        left.append(v("phi") * b)
        if self.signature:
            hashes = [v("hpH" + attribute) for attribute in self.event]
            left += [v("cH"), v("t")]
            signed = len(hashes) * v("z") * v("alpha_p") + sum(hashes) * v("cH") + v("m") * v("t")
            right += [v("m"), *hashes, signed]
        return [each % PRIME for each in left], [each % PRIME for each in right], b % PRIME

    def opens(self) -> bool:
        """Whether the attacker computes e(g, g2)^(alpha b), of which the key is a hash."""

        def world(v: Secrets) -> tuple[list[int], list[int], int]:
            left, right, b = self.known(v)
            return left, right, v("z") * v("alpha") % PRIME * b

        return is_computable(world)

    def opens_tag(self, attribute: str, label: str) -> bool:
        """Whether the attacker computes e(hs, H3(label))^b of an attribute, of which the tag is a hash."""

        def world(v: Secrets) -> tuple[list[int], list[int], int]:
            left, right, _ = self.known(v)
            phi_s = v("phi") if self.shared_phi else v("phi_s")
            return left, right, phi_s * v("b" + attribute) % PRIME * v("t" + label)

        return is_computable(world)

    def view(self, v: Secrets) -> tuple[list[int], list[int], int]:
        """As a world in which nothing is wanted."""
        left, right, _ = self.known(v)
        return left, right, 0


def is_forgeable(claimed: Sequence[str], keys: Mapping[str, Sequence[str]], name: str, message: str) -> bool:
    """Whether a signature for claimed labels in the advertisement `name` follows from keys and seen signatures.

    S1 is linear in what a forger chooses: it has one if and only if d·z·α_p is a combination of points in G2, of points
    in G1 times the sum of the hashes, and of points in G1 times the message. An honest publisher H has signed m1 and m2
    for A0, B0.
    """

    def world(v: Secrets) -> tuple[list[int], list[int], int]:
        left, right = [1, v("alpha"), v("alpha_p"), v("phi"), v("phi_s"), v("cH")], [1, v("z"), v("m*")]
        for owner, labels in {**keys, "H": ()}.items():
            right += [v("hp" + owner + each) for each in claimed]
            left.append(v("c" + owner))
            for each in labels:
                hashed = v("hp" + owner + each)
                right += [hashed, v("z") * v("alpha_p") + hashed * v("c" + owner)]
        for number in "12":
            hashes = v("hpHA0") + v("hpHB0")
            left.append(v("t" + number))
            signed = 2 * v("z") * v("alpha_p") + hashes * v("cH") + v("m" + number) * v("t" + number)
            right += [v("m" + number), signed]
        labels_sum = sum(v("hp" + name + each) for each in claimed) % PRIME
        columns = [each % PRIME for each in right]
        columns += [each * labels_sum % PRIME for each in left] + [each * v(message) % PRIME for each in left]
        return [1], columns, len(claimed) * v("z") * v("alpha_p")

    return is_computable(world)
