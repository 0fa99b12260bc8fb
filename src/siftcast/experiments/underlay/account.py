"""What was set up how, and what the thesis leaves open."""

ACCOUNT = """
## Set-up

Waxman with 1,640 routers (BRITE's growing form), transit-stub with 1,584, and a two-level Waxman of 40 domains and
1,640 routers (BRITE top-down). Up to 1,024 peers on random routers, of stub domains where there are any. Last miles are
5 to 10 % of the mean delay of a link. Degree limits LG1 = log2 N, LG2 = 2 log2 N, SQ = √N, NC = none. Ten targets,
σ = 0.1, a TTL of 100. Interests are those of `siftcast generate underlay` (WL2) and the same without hot spots (WL1),
2,000 events, of which 200 are followed link by link. Five seeds where something is judged, three where it is printed.

Published maps are printed: BRITE's two-level example, three providers of Rocketfuel, three of the largest graphs of the
Internet Topology Zoo, with at most 256 peers on routers of their own, and 490 hosts of PlanetLab, of which only delays
are known, so that stress and discovered links are not. The files are found through `SIFTCAST_SHARED`; where it is not
set, these rows are left out.

The overlays and the trees are models in memory (`experiments/underlay`); nothing here runs on sockets. The machine did
other work meanwhile: the configurations of routing took 48 minutes in which they had 8 minutes of a processor, so alone
the run would be several times as fast. The largest set-up, 1,024 peers and 5,000 events, takes seconds (U6 scale).

## Readings

Stated on 19 November 2026, after trials with one seed and before the full run.

- **The baseline**, *k nearest*, is what anyone would do without this chapter: each peer's ten nearest by measured
  delays, and a link to a peer drawn at random. With a degree limit the shortest links come first.
- **RDP** is the ratio of the sums of delays over all pairs. **Discovered** are physical links on some overlay link, of
  those on the route between any two peers; for U1, on the inferred routes.
- **A walk** begins at the neighbours of whoever has joined, goes on to σ of the neighbours of each peer, at least one,
  never to more than it has targets left, and deals these out without loss.
- **Case 2** adopts all children that lie beyond the newcomer. A peer at the router of whoever is asked adopts nobody.
- **DOnly** takes the targets of DWorst, and connects to them and to the peer that it joins at where they are. **Ours**:
  a walk only visits, then the k_L nearest of the peers visited place the walker.
- **One distant link** of each peer goes to the farthest of ten drawn at random, and counts for no limit.
- **Anonymous routers** look like new ones each time. They may be merged if the way to them is the same, or if the
  router behind them is as well; the first is wrong where a router has many neighbours that end a route.
- **The triangle of delays**: q is on the way from p to s if d(p, q) + d(q, s) ≤ (1 + ε)·d(p, s), last miles included.
  To keep newcomers from being sent in circles q must be nearer than s, and farther than ε·d(p, s), and nobody is asked
  twice. Noise of 15 % changes the delay of each pair by up to that share, the same both ways.
- **Coordinates** are those of users' nodes (Vivaldi, two dimensions and a height), after 200 rounds in which each peer
  measures the delay to one of 16.
- **Cost** is that of section 4.2: each delivery pays the delay of its path. It hides how many messages there are when
  copies for several subscribers share a link, how many physical links these cross, and their delays (U6 messages).
- **All pairs** between cores are paths of least weight; within a cell, paths are those of its tree. That is no tree.
- **SPotent**'s weights and delays are in units of the mean link, because it adds them to a number of neighbours.
- **Control** (U9) is what the spanning tree, the votes and Algorithm 8 (repaired) send, and subscriptions to all. Paths
  between all cores need the messages of each core everywhere: as many times the messages of a single one.
- **Under churn** (U10) peers hang themselves below the neighbour through which the top of the tree is nearest, and not
  below their own children; the tree is rebuilt after 2,000 events.

The judges of the trials were read once more, word by word, before the full run, and became stricter with these words:
U1 judges the whole order, with the lead of 8 points on transit-stub only; U3 the mean of the three heuristics and not
the best; DOnly also 512 peers; U4 each peer's inferences and not their mean; U5 stress too, and walks at 2 % too; U9
every number of cores; U10 each share of churn, beside none; U12 each number of peers.

## What differs, and why

Where something was printed because of what came out, it says so.

- **The baseline** beats all heuristics of the thesis at 512 peers, but not on transit-stub with log2 N neighbours.
  Ours is as good or better in most cells, and worse on transit-stub with log2 N. The baseline knows all delays, and
  ours knows nearly as much at this size, because its walks take some 950 steps. So what helps most is to know who is
  near. Routes help where networks have domains, and save links everywhere.
- **Published maps** Without a degree limit, placed overlays win where there are many links between routers: RDP is
  1.06 on AS 1221 and AS 1239 and 1.10 to 1.15 on BRITE's map, with DWorst, MLink, random targets and ours alike, beside
  1.16 to 1.20 of the baseline. On AS 1755 and on the sparse graphs of the Topology Zoo the baseline wins, with two to
  three times the links of ours. On PlanetLab, where only the triangle of delays can place, DWorst has 0.87 beside 0.98;
  both are below 1 because a measured route is not always the shortest. Which targets are chosen hardly matters there.
- **The triangle of delays** with ε = 0.05 or 0.1 is within 0.03 of routes with ours, with and without noise, on Waxman
  and on AS 1239; with DWorst on Waxman ε = 0.1 and more is better than routes, because more peers count as on the way.
  With ε = 0.2 stress rises on AS 1239. It costs half as many probes again, and saves ten traceroutes for each peer. A
  pilot saw it worse on one map of Rocketfuel.
- **Coordinates** predict half of the delays within 9 to 12 %, and one in ten is wrong by 34 to 62 %. The nearest are
  among those that are wrong: the baseline pays for it on Waxman (1.46 beside 1.19), while ours, placed by true routes,
  loses less. Where the triangle has to place by predicted delays too (PlanetLab), it loses most: points in a plane
  have somebody in between everywhere. So coordinates are for choosing whom to measure.
- **U3** DBest takes 3 of 10 targets, although it walks 650 steps: whoever is visited must have no nearer neighbour at
  all. Its overlay has few links and an RDP of 1.7. DWorst and MLink are within the band, as the best of the three is,
  by which the row was judged in trials.
- **U3 anonymous** A pilot saw 1.38, 1.73 and 1.45 on Waxman. Merging by the way to a router alone makes it worse here,
  and so it was measured once more, after the run, with the router behind it too: that takes back half of the loss.
- **U6, SPath** is least in all cells with β = 0. With β = 1 its weights hold interests, which the cost does not.
- **U6, SPotent** counts links to distant peers as neighbours. A distant peer is the farthest of ten, so peers at the
  edge get many of these links, and with a degree limit, which these links are free of, they have the highest potential.
  Without them (*U6 neighbours*, added after the run) it saves more where there is a limit.
- **U6, 32 cores** CNeigh is within the band in three of four cells. Dissimilarity makes paths longer and only saves
  messages: with growing β fewer links are crossed for a delivery, as in a pilot, where β was mostly a price for a hop.
- **U6 messages** A pilot saw 14 to 58 % *more* messages than MST with one core. Here they are fewer by 26 to 62 %, and
  cross fewer physical links, because paths in MST are long. What is more are the delays of these messages, from -19
  to +99 %: MST has the least.
- **U11** The rise with σ is well within its spread; the rise with k_L is not.
- **U12** MLink and DWorst are within 3 % of each other; MLink is ahead with 128 and 512 peers, and was judged with 512
  in trials. DBest has few joins, as it takes few targets.
- **U13** WL2 does not beat WL1, and Sim is not better than Rand on it. Perhaps hot spots leave too many pairs of peers
  with nothing in common where an event matches 5 % of the subscriptions; this was not looked into.
- **Units** In seconds SPotent's terms for delays outweigh the number of neighbours on Waxman, and it chooses other
  peers: here better ones, as they are peers without far neighbours.
"""
