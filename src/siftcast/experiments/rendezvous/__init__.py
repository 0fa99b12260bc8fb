"""Layers and the rendezvous ring (seed 002): what the printed ring misses, and what the repaired one costs.

printed.py      the ring as printed, and where it fails
rings.py        rings of any N, R and H, and the filters and events they are tried with
placements.py   rows R1, R2 and R4 on the geometry alone
"""
