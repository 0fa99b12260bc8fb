"""Two backends of BLS12-381 beside each other, and beside an implementation that is slow and obvious."""

import secrets
import sys
from functools import cache

import pytest

from siftcast.security import MissingExtraError
from siftcast.security.hazmat import groups as groups_module
from siftcast.security.hazmat.groups import G1_BYTES, G2_BYTES, ORDER, CountedGroups, Groups, PointError, find_groups
from siftcast.security.hazmat.groups.arkworks import ArkworksGroups
from tests.unit.security.oracle import deep, hash_to_G1, hash_to_G2, normalize

FIELD = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
MESSAGES = (b"", b"abc", b"abcdef0123456789", b"q128_" + b"q" * 128, b"a512_" + b"a" * 512)


def backends() -> list[Groups]:
    found: list[Groups] = [ArkworksGroups()]
    if sys.version_info < (3, 13):
        from siftcast.security.hazmat.groups.mcl import MclGroups

        found.append(MclGroups())
    return found


BACKENDS = backends()
each_backend = pytest.mark.parametrize("groups", BACKENDS, ids=lambda each: type(each).__name__)


def form(x: tuple[int, ...], y: tuple[int, ...]) -> bytes:
    """The bytes of a point, as the contract words it."""
    data = bytearray(b"".join(part.to_bytes(48, "little") for part in x))
    data[-1] |= (y[0] & 1) << 7
    return bytes(data)


@cache
def oracle_forms(context: bytes, message: bytes) -> tuple[bytes, bytes]:
    import hashlib

    x1, y1 = normalize(hash_to_G1(message, context, hashlib.sha256))
    x2, y2 = normalize(hash_to_G2(message, context, hashlib.sha256))
    return form((x1.n,), (y1.n,)), form(tuple(map(int, x2.coeffs)), tuple(map(int, y2.coeffs)))


# RFC 9380, J.9.1 and J.10.1: the x coordinates of P. The whole point is compared with py_ecc below.
RFC_G1 = {
    b"": "052926add2207b76ca4fa57a8734416c8dc95e24501772c814278700eed6d1e4e8cf62d9c09db0fac349612b759e79a1",
    b"abc": "03567bc5ef9c690c2ab2ecdf6a96ef1c139cc0b2f284dca0a9a7943388a49a3aee664ba5379a7655d3c68900be2f6903",
}
RFC_G2 = {
    b"": "0141ebfbdca40eb85b87142e130ab689c673cf60f1a3e98d69335266f30d9b8d4ac44c1038e9dcdd5393faf5c41fb78a",
    b"abc": "02c2d18e033b960562aae3cab37a27ce00d80ccd5ba4b7fe0e7a210245129dbec7780ccc7954725f4168aff2787776e6",
}
DST = b"QUUX-V01-CS02-with-BLS12381G%d_XMD:SHA-256_SSWU_RO_"


@each_backend
def test_hashing_has_the_vectors_of_rfc_9380(groups: Groups) -> None:
    for message, x in RFC_G1.items():
        data = groups.write1(groups.hash1(DST % 1, message))
        assert int.from_bytes(data, "little") & ~(1 << 383) == int(x, 16)
    for message, x in RFC_G2.items():
        data = groups.write2(groups.hash2(DST % 2, message))
        assert int.from_bytes(data[:48], "little") == int(x, 16)


@each_backend
def test_hashing_is_that_of_the_oracle(groups: Groups) -> None:
    for context, message in [(DST % 1, MESSAGES[1]), (DST % 2, MESSAGES[2]), (b"of our own", MESSAGES[3])]:
        first, second = oracle_forms(context, message)
        assert groups.write1(groups.hash1(context, message)) == first
        assert groups.write2(groups.hash2(context, message)) == second


def test_backends_have_the_same_bytes_for_the_same_points_and_pairings() -> None:
    written = set()
    for groups in BACKENDS:
        left = groups.times1(groups.hash1(b"dst", b"left"), 11)
        right = groups.times2(groups.hash2(b"dst", b"right"), ORDER - 7)
        value = groups.power(groups.pair(left, right), 2**255 + 3)
        zero = groups.sum2((right, groups.minus2(right)))
        both = groups.pair_all([(left, right), (groups.generator1, groups.minus2(right)), (left, zero)])
        one_by_one = groups.product(groups.pair(left, right), groups.pair(groups.generator1, groups.minus2(right)))
        assert groups.same(both, one_by_one)
        written.add((groups.write1(left), groups.write2(right), groups.write_value(value), groups.write_value(both)))
    assert len(written) == 1


@pytest.mark.full
def test_a_pairing_is_that_of_the_oracle() -> None:
    """Libraries choose the exponent of the last step, so theirs is a fixed power of the oracle's: the one to -3."""
    from py_ecc.bls12_381 import FQ12, G1, G2, curve_order, field_modulus, pairing

    assert (curve_order, field_modulus) == (ORDER, FIELD)
    groups = find_groups()
    data = groups.write_value(groups.pair(groups.generator1, groups.generator2))
    numbers = [int.from_bytes(data[at : at + 48], "little") for at in range(0, len(data), 48)]
    # Of powers of w, where w^2 = v and w^6 = 1 + i; the numbers are those of v^k w^j, times 1 and i.
    coefficients = [0] * 12
    for j in range(2):
        for k in range(3):
            real, imaginary = numbers[(j * 3 + k) * 2 : (j * 3 + k) * 2 + 2]
            coefficients[2 * k + j] = (real - imaginary) % FIELD
            coefficients[2 * k + j + 6] = imaginary
    with deep():
        value = pairing(G2, G1)
        assert FQ12(coefficients) == value ** (ORDER - 3)
    assert value != FQ12.one()


@each_backend
def test_pairings_are_bilinear(groups: Groups) -> None:
    base = groups.pair(groups.generator1, groups.generator2)
    for _ in range(100 if groups is BACKENDS[-1] else 5):
        a, b = secrets.randbelow(ORDER - 1) + 1, secrets.randbelow(ORDER - 1) + 1
        value = groups.pair(groups.times1(groups.generator1, a), groups.times2(groups.generator2, b))
        assert groups.same(value, groups.power(base, a * b))
        assert not groups.same(value, groups.power(base, a * b + 1))


@each_backend
def test_points_read_back_as_they_were_written(groups: Groups) -> None:
    for number in range(1, 40):
        first, second = groups.times1(groups.generator1, number), groups.times2(groups.generator2, number)
        for point in (first, groups.times1(first, -1)):
            assert groups.write1(groups.read1(groups.write1(point))) == groups.write1(point)
        for other in (second, groups.minus2(second)):
            assert groups.write2(groups.read2(groups.write2(other))) == groups.write2(other)


def curve_points_outside() -> tuple[bytes, bytes]:
    """Points on the curves y² = x³ + 4 and y² = x³ + 4(1 + i), outside of the groups of prime order."""
    from py_ecc.bls.point_compression import modular_squareroot_in_FQ2
    from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2

    x = next(x for x in range(1, 99) if pow(x**3 + 4, (FIELD - 1) // 2, FIELD) == 1 and x not in (0, 4))
    y = pow(x**3 + 4, (FIELD + 1) // 4, FIELD)
    for first in range(1, 99):
        point = FQ2([first, 0])
        root = modular_squareroot_in_FQ2(point**3 + FQ2([4, 4]))
        if root is not None:
            return form((x,), (y,)), form((first, 0), tuple(map(int, root.coeffs)))
    raise AssertionError("there is one among any few")


OUTSIDE1, OUTSIDE2 = curve_points_outside()
GOOD1, GOOD2 = (
    BACKENDS[0].write1(BACKENDS[0].generator1),
    BACKENDS[0].write2(BACKENDS[0].generator2),
)


def unreadable(good: bytes, outside: bytes, other: bytes) -> dict[str, bytes]:
    parts = [int.from_bytes(good[at : at + 48], "little") & ~(1 << 383) for at in range(0, len(good), 48)]
    return {
        "zero": bytes(len(good)),
        "zero with a sign": bytes(len(good) - 1) + b"\x80",
        "nothing": b"",
        "cut short": good[:-1],
        "bytes behind": good + b"\0",
        "x of the field's size and more": b"".join((part + FIELD).to_bytes(48, "little") for part in parts),
        "all ones": b"\xff" * len(good),
        "other flags": good[:-1] + bytes((good[-1] | 0x40,)),
        "off the curve": (1).to_bytes(len(good), "little"),
        "outside of the group": outside,
        "of the other group": other,
        "zero in the form of others": b"\xc0" + bytes(len(good) - 1),
        "in the form of others": BACKENDS[0].generator1.to_compressed_bytes()  # type: ignore[attr-defined]
        if len(good) == G1_BYTES
        else BACKENDS[0].generator2.to_compressed_bytes(),  # type: ignore[attr-defined]
    }


@each_backend
@pytest.mark.parametrize("what", unreadable(GOOD1, OUTSIDE1, GOOD2))
def test_what_is_no_point_in_its_one_form_is_refused(groups: Groups, what: str) -> None:
    with pytest.raises(PointError):
        groups.read1(unreadable(GOOD1, OUTSIDE1, GOOD2)[what])
    with pytest.raises(PointError):
        groups.read2(unreadable(GOOD2, OUTSIDE2, GOOD1)[what])


@each_backend
def test_random_bytes_are_refused_or_written_back(groups: Groups) -> None:
    refused = 0
    for number in range(200):
        data = secrets.token_bytes(G1_BYTES) if number % 2 else secrets.token_bytes(G2_BYTES)
        try:
            point = groups.write1(groups.read1(data)) if number % 2 else groups.write2(groups.read2(data))
            assert point == data
        except PointError:
            refused += 1
    assert refused


def test_backends_read_the_same_bytes_in_the_same_way() -> None:
    for number in range(1, 30):
        written = {
            each.write1(each.read1(BACKENDS[0].write1(BACKENDS[0].times1(BACKENDS[0].generator1, number))))
            for each in BACKENDS
        }
        other = {
            each.write2(each.read2(BACKENDS[0].write2(BACKENDS[0].times2(BACKENDS[0].generator2, number))))
            for each in BACKENDS
        }
        assert len(written) == len(other) == 1


def test_a_counter_counts_pairings_and_changes_nothing() -> None:
    groups = find_groups()
    counted = CountedGroups(groups)
    pairs = [(counted.generator1, counted.generator2)] * 3
    assert groups.same(counted.pair_all(pairs), groups.power(counted.pair(*pairs[0]), 3))
    assert counted.pairings == 4
    assert counted.write1(counted.read1(GOOD1)) == GOOD1


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pymcl", "py_arkworks_bls12381"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("mcl", "arkworks"):
        monkeypatch.delitem(sys.modules, f"siftcast.security.hazmat.groups.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=r"siftcast\[security\]"):
        groups_module.find_groups.__wrapped__()


def test_without_the_fast_backend_the_other_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymcl", None)
    monkeypatch.delitem(sys.modules, "siftcast.security.hazmat.groups.mcl", raising=False)
    assert type(groups_module.find_groups.__wrapped__()).__name__ == "ArkworksGroups"


def test_the_oracle_leaves_the_limit_of_recursion_as_it_was() -> None:
    """A text that nests too deep is refused because of it, in tests of other parts in the same process."""
    assert sys.getrecursionlimit() < 20_000
