"""The digests of a schema: which attributes share the bits, and in which way.

    segments   the paper's simple function: every attribute has a segment, each bit a part of its range
    hashed     every attribute has a segment, each bit the values with one hash
    bloom      all attributes share all bits, each element of an attribute sets a few of them

A filter's digest is taken from its normal form, alternative by alternative: an alternative allows a product of sets,
and each attribute gives the bits of its set. That is what keeps covering (H1): `covers` says yes where each alternative
of the narrower filter lies in one of the wider, attribute by attribute. Hashing whole predicates would not keep it.

Cost: for an event, a binary search or a hash for each attribute, some 2 µs; for a filter its normal form, some 20 µs,
or 0.3 µs in batches (`of_filters`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from siftcast.model import Attribute, Event, Filter, Schema, SchemaError
from siftcast.model.values import Kind, lookup
from siftcast.space.digests.batches import BatchReader
from siftcast.space.digests.parts import BloomPart, DigestPart, HashedSegment, Segment

BITS_MAX = 128
DIGEST_KINDS = ("segments", "hashed", "bloom")
_WIDTH_MIN = 2
_BLOOM_CELLS = 64

Digests = npt.NDArray[np.uint64]


def is_within(part: int, whole: int) -> bool:
    """Whether all bits of one digest are in another."""
    return part & ~whole == 0


class InterestDigests:
    """Maps events and filters to digests."""

    __slots__ = ("_batches", "bits", "parts")

    def __init__(self, parts: Sequence[DigestPart], bits: int) -> None:
        self.parts = tuple(parts)
        self.bits = bits
        self._batches = BatchReader(self.parts, bits)

    @classmethod
    def of(
        cls,
        schema: Schema,
        attributes: Iterable[str] = (),
        *,
        bits: int = 64,
        kind: str = "segments",
        hashes: int = 2,
    ) -> InterestDigests:
        """Digests over some attributes of a schema, all that can be divided if none are named.

        Raises SchemaError if an attribute is not there or cannot be divided, or if the bits do not suffice.
        """
        if kind not in DIGEST_KINDS:
            raise SchemaError(f"digests are of kind {', '.join(DIGEST_KINDS)}, not {kind!r}")
        chosen = _chosen(schema, tuple(attributes), kind)
        if not _WIDTH_MIN * len(chosen) <= bits <= BITS_MAX:
            raise SchemaError(
                f"digests of {len(chosen)} attributes have {_WIDTH_MIN * len(chosen)} to {BITS_MAX} bits, not {bits}"
            )
        if kind == "bloom":
            if not 1 <= hashes <= bits:
                raise SchemaError(f"an element of a Bloom digest sets 1 to {bits} bits, not {hashes}")
            return cls([BloomPart(attribute, bits, hashes, _BLOOM_CELLS) for attribute in chosen], bits)
        make = Segment if kind == "segments" else HashedSegment
        parts: list[DigestPart] = []
        offset = 0
        # Attributes of few values first, so that what they do not need goes to the others.
        for left, attribute in zip(range(len(chosen), 0, -1), sorted(chosen, key=_fineness), strict=True):
            part = make(attribute, offset, (bits - offset) // left)
            parts.append(part)
            offset += part.width
        return cls(sorted(parts, key=lambda part: chosen.index(part.attribute)), offset)

    @property
    def everything(self) -> int:
        """The digest of a filter that says nothing."""
        whole = 0
        for part in self.parts:
            whole |= part.whole
        return whole

    def of_event(self, event: Event | Mapping[str, object]) -> int:
        """The bits that every filter that matches the event has."""
        attributes = event.attributes if isinstance(event, Event) else event
        digest = 0
        for part in self.parts:
            digest |= part.of_value(lookup(attributes, part.attribute.name, part.path))
        return digest

    def of_filter(self, filter_: Filter) -> int:
        """The bits of every event that the filter can match."""
        digest = 0
        for conjunction in filter_.alternatives:
            for part in self.parts:
                digest |= part.of_constraint(conjunction.constraints.get(part.path))
        return digest

    def of_filters(self, filters: Sequence[Filter]) -> Digests:
        """The digests of many filters, a row each: as many words of 64 bits as needed, the lowest first."""
        return self._batches.read(filters, self.of_filter)

    def of_columns(self, form: Filter, literals: Sequence[npt.ArrayLike]) -> Digests:
        """The digests of filters that differ from a form in their literals, which stand in columns.

        For conjunctions of comparisons; numbers are taken as floats.
        """
        return self._batches.read_columns(form, literals)

    def __repr__(self) -> str:
        names = ", ".join(part.attribute.name for part in self.parts)
        return f"<InterestDigests of ({names}) in {self.bits} bits>"


def _chosen(schema: Schema, names: tuple[str, ...], kind: str) -> list[Attribute]:
    if not names:
        found = [each for each in schema if kind == "hashed" or each.domain is not None or each.kind is Kind.BOOLEAN]
        if not found:
            raise SchemaError("no attribute of the schema has a domain; digests of kind 'hashed' need none")
        return found
    known = {attribute.name: attribute for attribute in schema}
    missing = [name for name in names if name not in known]
    if missing:
        raise SchemaError(f"the schema has no attribute '{missing[0]}' to make digests of")
    if len(set(names)) < len(names):
        raise SchemaError("digests name an attribute twice")
    return [known[name] for name in names]


def _fineness(attribute: Attribute) -> float:
    """How many values an attribute has, as far as known."""
    if attribute.kind is Kind.BOOLEAN:
        return 2.0
    if attribute.domain is None:
        return float("inf")
    if attribute.kind is Kind.STRING:
        return float(len(attribute.domain))
    low, high = attribute.domain
    scale = attribute.scale
    return float(scale.after(high)[1] - scale.before(low)[1]) if scale.step is not None else float("inf")
