"""The parts that can be used wrongly: encodings, keys and the envelope. `security.recipes` puts them together.

encoding.py         parts in a row that cannot be mistaken for other parts; a reader that refuses what is not exact
secret.py           bytes that do not print, compare slowly on purpose, and refuse to be pickled
signatures.py       Ed25519 keys, which raise where a signature is wrong
derivation.py       from a group's secret to the key and the commitment of one message; salts
hash_tree.py        one signature for many events
padding.py          lengths rounded up to classes
envelope.py         the bytes of a sealed payload, outside and inside of the encryption
hidden.py           what holds keys does not print, pickle or copy
groups/             pairings, for events that are sealed whole
scheme/             the scheme of chapter 5 on them, repaired

`cryptography` is imported only here. Nothing here knows a clock, a file or a network; randomness is an argument.
"""
