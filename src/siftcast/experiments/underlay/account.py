"""What was set up how, and what the thesis leaves open."""

ACCOUNT = """
## Set-up

Waxman with 1,640 routers (BRITE's growing form), transit-stub with 1,584, and a two-level Waxman of 40 domains and
1,640 routers (BRITE top-down). Up to 1,024 peers on random routers, of stub domains where there are any. Last miles are
5 to 10 % of the mean delay of a link. Degree limits LG1 = log2 N, LG2 = 2 log2 N, SQ = √N, NC = none. Ten targets,
σ = 0.1, a TTL of 100. Interests are those of `siftcast generate underlay` (WL2) and the same without hot spots (WL1),
2,000 events. The overlay and the trees are models in memory (`experiments/underlay`); nothing of this runs on sockets
yet.

## Readings

Stated on 19 November 2026, after trials with one seed and before the full run.

- **RDP** is the ratio of the sums of delays over all pairs. **Discovered** are physical links on some overlay link, of
  those on the route between any two peers; for U1, on the inferred routes.
- **A walk** begins at the neighbours of whoever has joined, goes on to σ of the neighbours of each peer, at least one,
  never to more than it has targets left, and deals these out without loss.
- **Case 2** adopts all children that lie beyond the newcomer. A peer at the router of whoever is asked adopts nobody.
- **DOnly** takes the targets of DWorst, and connects to them where they are. **NEAREST** is ours: a walk only visits,
  then the k_L nearest of the peers visited place the walker.
- **One distant link** of each peer goes to the farthest of ten drawn at random, and counts for no limit.
- **Cost** is that of section 4.2: each delivery pays the delay of its path. It hides how many messages there are, which
  U9 prints.
- **All pairs** between cores are paths of least weight; within a cell, paths are those of its tree.
- **SPotent**'s weights and delays are in units of the mean link, because it adds them to a number of neighbours.
- **Control** is what Algorithm 8 (repaired) sends, votes and choice over a spanning tree, and subscriptions to all.
- **Under churn** (U10) peers hang themselves below the neighbour through which the top of the tree is nearest, and not
  below their own children; the tree is rebuilt after 2,000 events.

## What differs, and why
"""
