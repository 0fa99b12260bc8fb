"""HOMED (seed 004): a hypercube of interests, as printed and as repaired.

printed.py         the paper's algorithms as they are printed, with what fails in them
pitfalls.py        how often they fail
example.py         the example of figure 2 (H2)
covering.py        whether digests keep covering and matching (H1)
world.py           what nodes want, and what is published
setup.py           the configurations
measure.py         one configuration of the sweep
judge_printed.py   what needs no network
"""
