"""Chapter 5 as it is printed, and the variants that attacks on it need. Nothing here protects anything.

symmetric.py        a pairing of one group with itself, emulated: an element is a pair of points with one exponent
printed.py          the scheme of the thesis, word for word
variants.py         what the text leaves open, filled in as one might
component_signatures.py  a signature for each dimension, and three ways to check them together, one of them right
attacks.py          what is wrong with the printed scheme, as programs that show it
linear.py           solving and spans, modulo a prime
generic_group.py    what can be computed from what in the generic group model, for the scheme that Siftcast has

Each attack is a test that succeeds against the scheme its row names, and fails against `siftcast.security.whole`.
"""
