"""HOMED (seed 004): a hypercube of interests, as printed and as repaired.

printed.py      the paper's algorithms as they are printed, with what fails in them
pitfalls.py     how often they fail
"""
