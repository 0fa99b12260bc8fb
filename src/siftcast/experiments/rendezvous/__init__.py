"""Layers and the rendezvous ring (seed 002): what the printed ring misses, and what the repaired one costs.

setup.py        the configurations
printed.py      the ring as printed, and where it fails
rings.py        rings of any N, R and H, and the filters and events they are tried with
placements.py   rows R1, R2 and R4 on the geometry alone
hops.py         row R3: a zone of H parts in the simulator, beside the formulas
profiles.py     the applications of the paper's table 1 as scenarios; the files are in profiles/
runs.py         rows R5 to R7: scenarios under many schemes; weighing.py counts their bytes
measure.py      one configuration of the sweep
judge.py        rows R1 to R7; judge_runs.py has R5 to R7
figures.py      the figures, and the account of how it was set up
"""
