"""What sealing events whole costs, beside the primitives it is made of, measured in the same run.

For d dimensions of 2^n values: E makes the header and the key of an event (the values behind its tags remembered, or
cold), S signs, D finds the key again, V verifies, and a broker searches for one credential. Goals: E as a formula for
a machine whose pairing takes 0.67 ms, scaled by what it takes here; D and V in pairings, 15 % on top. V contains
hashing the message to G2 as well, which takes about as long as a pairing.

Processor time; the lower quartile of several calls, because others use the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Schema
from siftcast.security.credentials import CredentialSchema
from siftcast.security.hazmat.groups import Groups, find_groups
from siftcast.security.hazmat.scheme.encryption import Encrypter, decrypt_key, search
from siftcast.security.hazmat.scheme.event_form import EventInside, Signature, header_hash, read_event, read_inside
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.scope import TAG
from siftcast.security.hazmat.scheme.signing import message_point, sign
from siftcast.security.whole import KeyServer

_PRINTED_PAIRING_MS = 0.67
_PAYLOAD = bytes(128)


def run(settings: Settings, report: Report) -> None:
    """Measures the primitives, and then the scheme for several numbers of dimensions and values."""
    calls = settings.size(40, 8)
    pairing_ms = _measure_primitives(report, find_groups(), calls)
    shapes = (
        [(1, 4), (4, 4)] if settings.quick else [(1, 4), (1, 16), (4, 4), (4, 16), (8, 4), (8, 16), (16, 4), (16, 16)]
    )
    for dimensions, bits in shapes:
        report.progress(f"security: {dimensions} dimensions of 2^{bits} values")
        _measure_scheme(report, dimensions, bits, calls, pairing_ms)


def _call_ms(call: Callable[[], object], calls: int) -> float:
    """The lower quartile of the processor time of a call."""
    call()
    taken = []
    for _ in range(calls):
        started = process_time()
        call()
        taken.append(process_time() - started)
    return 1e3 * sorted(taken)[calls // 4]


def _measure_primitives(report: Report, groups: Groups, calls: int) -> float:
    scalar = 3**150
    left, right = groups.times1(groups.generator1, scalar), groups.times2(groups.generator2, scalar)
    value, one, two = groups.pair(left, right), groups.write1(left), groups.write2(right)
    pairing_ms = 0.0
    for name, call in (
        ("pairing", lambda: groups.pair(left, right)),
        ("multiplication in G1", lambda: groups.times1(left, scalar)),
        ("multiplication in G2", lambda: groups.times2(right, scalar)),
        ("power in GT", lambda: groups.power(value, scalar)),
        ("reading a point of G1", lambda: groups.read1(one)),
        ("reading a point of G2", lambda: groups.read2(two)),
        ("hashing to G2", lambda: groups.hash2(TAG, b"label")),
    ):
        taken = _call_ms(call, 5 * calls)
        pairing_ms = pairing_ms or taken
        report.add(f"security: {name}", taken, "ms", "lower", note=f"{type(groups).__name__}, CPU time")
    return pairing_ms


def _measure_scheme(report: Report, dimensions: int, bits: int, calls: int, pairing_ms: float) -> None:
    names = [f"a{number}" for number in range(dimensions)]
    schema = CredentialSchema(Schema([Attribute(name, "int", (0, 2**bits - 1)) for name in names]))
    server = KeyServer.begin(schema)
    wanted, advertised = (" AND ".join(f"{name} < {2 ** (bits - part)}" for name in names) for part in (3, 2))
    publisher, subscriber = server.publisher_keys(advertised), server.subscriber_keys(wanted)
    event = dict.fromkeys(names, 1)
    sealed = publisher.seal(event, _PAYLOAD)
    check_equal("opened", subscriber.open(sealed).payload, _PAYLOAD)
    groups, leaves = find_groups(), schema.leaves(schema.values(event))
    read, conjunction = read_event(sealed), subscriber._conjunctions[0]
    keys = [side[0].opening for side in conjunction.sides]
    inside = read_inside(subscriber._decrypt(read)[1], dimensions)
    credentials = [leaf[: inside.levels[0]] for leaf in leaves]
    advertisement = publisher._advertisements[0]
    signing = [side[0][1] for side in advertisement.sides]
    hashed = header_hash(read.header)

    def stream() -> HedgedStream:
        return HedgedStream(b"benchmark", lambda length: bytes(length), b"")

    def sign_once() -> Signature:
        bare = EventInside(inside.aid, inside.run, inside.number, inside.signature, inside.levels, inside.body)
        message = message_point(groups, publisher._scope, hashed, bare, credentials)
        return sign(groups, stream(), signing, advertisement.common, message)

    scale = pairing_ms / _PRINTED_PAIRING_MS
    sealing_goal = (0.5 + dimensions * (0.2 + 0.31 * (bits + 1))) * scale
    first = conjunction.sides[0][0]
    searched = lambda: search(groups, publisher._scope, read, 0, first.opening.level, first.searching)  # noqa: E731
    check_equal("found", searched(), True)
    rows: tuple[tuple[str, Callable[[], object], int, float | None], ...] = (
        ("E warm", lambda: publisher._encrypter.encrypt(stream(), leaves), calls, sealing_goal),
        ("E cold", lambda: Encrypter(publisher._encrypter._epoch).encrypt(stream(), leaves), max(calls // 8, 2), None),
        ("S", sign_once, calls, None),
        (
            "D",
            lambda: decrypt_key(groups, read, conjunction.binding, keys),
            calls,
            1.15 * (2 * dimensions + 1) * pairing_ms,
        ),
        ("V", lambda: subscriber._verifier.verify(inside, hashed, credentials), calls, 1.15 * 3 * pairing_ms),
        ("search", searched, calls, None),
        ("keys of a subscriber", lambda: server.subscriber_keys(wanted), max(calls // 8, 2), None),
        ("seal, all of it", lambda: publisher.seal(event, _PAYLOAD), calls, None),
        ("open, all of it", lambda: subscriber.open(sealed), calls, None),
    )
    for name, call, many, goal in rows:
        taken = _call_ms(call, many)
        shape = f"d = {dimensions}, log₂ Z = {bits}"
        report.add(
            f"security, {shape}: {name}", taken, "ms", "lower", goal=goal, note=f"{taken / pairing_ms:.1f} pairings"
        )
    report.add(f"security, d = {dimensions}, log₂ Z = {bits}: bytes of a header", len(read.header), "B", "lower")
