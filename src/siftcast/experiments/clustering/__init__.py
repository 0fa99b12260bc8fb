"""Subscription clustering (seed 003, chapter 3): do clusters from traffic save messages, and can peers find them alone?

setup.py           the configurations
world.py           workloads as arrays, and the classes clusters are compared with
quality.py         embeddings, clusters and false positives (C1 to C4, C7)
times.py           time of groups and rounds, with links (C5, C6)
dissemination.py   notification cost in the simulator (C8)
rtree_overlay.py   a distributed R-tree, which C8 compares with
measure.py         one configuration of the sweep
judge.py           rows C1 to C8: judge_quality.py and judge_costs.py
figures.py         the figures, and the account of how it was set up
"""
