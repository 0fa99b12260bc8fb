"""Subscriber-defined QoS (thesis, chapter 2): the overlay as described, in rounds, and what of it holds.

thesis/              the overlay: peers, Algorithms 1 to 3, rounds
printed_mapping.py   Algorithm 4 exactly as printed, beside its repair in `space.dz`
examples.py          the worked examples (Q1, Q9), and Algorithm 4 on random subscriptions (Q2)
networks.py          construction, churn, bounds and degrees (Q4 to Q8, Q11)
properties.py        events followed hop by hop (Q3), and bandwidths (Q10)
pitfalls.py          other readings of the rules
users.py             the overlay that users get, beside it
setup.py             the configurations
measure.py           one configuration of the sweep
judge.py             rows Q1 to Q11: judge_exact.py and judge_networks.py
figures.py           the figures, and the account of how it was set up
"""
