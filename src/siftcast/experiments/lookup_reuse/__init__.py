"""Lookup reuse (seed 001): what it saves when routers pass on which subscriptions an event matched.

setup.py      the network, the workload and the configurations
measure.py    one configuration: all strategies on one network, timed
judge.py      rows L1 to L8
figures.py    the figures, and the account of how it was set up
"""
