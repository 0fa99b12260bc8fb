"""Interest digests: a filter or an event as a few bits, so that matching leaves a trace in them (HOMED, section 2.1).

    a filter f  ──▶  the bits of every value it can be true for        f matches e   ⇒  digest(e) ⊆ digest(f)
    an event e  ──▶  the bits of the values it holds                   g covers f    ⇒  digest(f) ⊆ digest(g)

interest_digests.py  the digests of a schema, by kind: segments, hashed values, Bloom
cell_line.py         the values of one attribute cut into cells, in their order
parts.py             what one attribute puts into a digest
batches.py           digests of many filters at once

A digest is a whole number used as a set of bits, at most 128 of them. The laws hold for whatever the language can say:
OR, NOT, LIKE, NULL, missing attributes, values of another kind, outside of the domain or off the grid. `covers` is
meant without a schema, whose granularity lets it say yes where events off the grid would disagree.
"""

from siftcast.space.digests.interest_digests import BITS_MAX, DIGEST_KINDS, InterestDigests, is_within

__all__ = ["BITS_MAX", "DIGEST_KINDS", "InterestDigests", "is_within"]
