"""HOMED (seed 004): a hypercube of interests, as printed and as repaired.

printed.py         the paper's algorithms as they are printed, with what fails in them
pitfalls.py        how often they fail (H3 to H5, as printed)
example.py         the example of figure 2 (H2)
covering.py        whether digests keep covering and matching (H1)
world.py           what nodes want, and what is published
network.py         a network of the repaired protocol in the simulator
trips.py           the way of each event, read from a trace
growth.py          what subscribing, unsubscribing and events cost in networks of many sizes (H3, H4)
recovery.py        who takes part when a node is lost (H5)
variants.py        equal digests, k-ary cubes, filters carried by beats (H6)
setup.py           the configurations
measure.py         one configuration of the sweep
judge.py           rows H1 to H6: judge_printed.py and judge_network.py
figures.py         the figures, and the account of how it was set up
"""
