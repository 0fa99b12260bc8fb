"""Underlay awareness (thesis, chapter 4): peers placed by routes, and trees through cores.

world.py            peers on a physical network: delays and routes
maps.py             published maps and measured delays, where they are at hand
routes.py           who lies on the way to whom
discovery.py        the topology discovery overlay: joins, cases 1 to 3, random walks
coordinates.py      Vivaldi: delays that nobody has measured
landmarks.py        landmark trees, and what targets show of the underlay (U1, U8)
quality.py          RDP, stress, and the part of the underlay that is discovered; the baseline
interests.py        events and who matches them
core_discovery.py   Algorithm 8, as printed and repaired
routing.py          core trees beside MST and shortest paths
changing.py         a core tree under churn (U10)
setup.py            the configurations
measure.py          one configuration of the sweep; measure_maps.py and measure_pitfalls.py have what is only printed
judge.py            rows U1 to U13, in judge_*.py
figures.py          the figures, and account.py how it was set up
"""
