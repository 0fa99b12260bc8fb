"""Events that are sealed whole: the scheme of chapter 5, repaired, on a pairing of two different groups.

    event   CT2 = h^b, and for each dimension CT = g^bᵢ and for each level CTⱼ = W(label)^bᵢ and a tag;  b = Σ bᵢ
    key     D1 = g₂^γ · W~(label)^x, D2 = g~^x for each credential, D4 = g₂^((γ + α)/φ) for the conjunction
    open    e(CT2, D4) · Π e(CTⱼ, D2) / e(CT, D1) = e(g, g₂)^(αb), hashed with the header to the key

**All of an event lies in G1, all keys in G2, and the twin W~ of the hash W stays with the key server.** In one group,
as printed, anybody reads all values: e(CT, W) = e(g, CTⱼ) tells which label a level has.

scope.py            what a label belongs to; labels, and the words that keep hashes of different use apart
waters.py           the hash W into G1, of which the key server knows the exponent
randomness.py       scalars and bytes that are fresh even if the machine's randomness repeats
epoch.py            the secrets of an epoch, derived from a seed, and what of them is public
issuing.py          keys, as the key server makes them
event_form.py       the bytes of an event
encryption.py       to a header and a key, and back; search tags
signing.py          one signature for all dimensions, checked in three pairings
requests.py         connection requests: of equal size, opened by whoever has a covering credential

G1 and G2 are written additively in the code. Why it is so, and which attacks on the printed scheme it answers, is in
ADR 34; the attacks themselves are in `experiments.security`.
"""
