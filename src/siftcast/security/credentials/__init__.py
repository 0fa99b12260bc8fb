"""Credentials: parts of one attribute's values as paths in a tree, of which keys are made. Chapter 5.4 of the thesis.

    ε ─┬─ null                          an event has all prefixes of the path of its value: 88 of [0, 127] is
       ├─ 0 ─ …                         ε 1 10 101 1011 10110 101100 1011000
       └─ 1 ─┬─ 10 ─ …                  a subscriber of 80 ≤ x ≤ 95 has a key for 101, one of x = 88 for 1011000
             └─ 11 ─ …

paths.py            paths, and ranges of cells as the fewest of them
dimensions.py       what a dimension is; numbers, booleans, timestamps and listed strings: bits on the grid
texts.py            other strings: by their beginnings, their ends, or as keywords
credential_schema.py  a schema's dimensions in order, with the time of an epoch if wanted
conjunctions.py     filters as conjunctions of credentials; those that are no exact union of them are refused

All values of a dimension have paths of one length, so that levels tell nothing, and each event has all dimensions: what
it has no value for is NULL, which lies beside all values and below ε only. A subscriber without a constraint has a key
for ε, one that asks for `IS NOT NULL` does not.
"""

from siftcast.security.credentials.conjunctions import CredentialConjunction, conjunctions_of
from siftcast.security.credentials.credential_schema import CredentialSchema, Leaves, TimeSlots
from siftcast.security.credentials.dimensions import Dimension, Instants
from siftcast.security.credentials.paths import ROOT, CredentialPath
from siftcast.security.credentials.texts import Keyword, Text

__all__ = [
    "ROOT",
    "CredentialConjunction",
    "CredentialPath",
    "CredentialSchema",
    "Dimension",
    "Instants",
    "Keyword",
    "Leaves",
    "Text",
    "TimeSlots",
    "conjunctions_of",
]
