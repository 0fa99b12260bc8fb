"""Kyra (seed 000): what cliques, subscription movement and many small trees do to state, work and traffic.

paper.py      what the paper prints
setup.py      the topology, the data models and the configurations
measure.py    one configuration: a scheme on a topology in the simulator, and what the checkers say
example.py    the eight servers of Figures 2 and 4
table.py      outcomes by what was asked
judge.py      rows K1 to K13 (judge_stress.py: K10)
figures.py    the figures, and the account of how it was set up
"""
