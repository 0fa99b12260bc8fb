"""What the paper prints: Table I, Table III and Table IV."""

from __future__ import annotations

CLIQUE_SIZES = {0: (1, 1), 100: (6, 21), 200: (13, 29), 300: (32, 64), 400: (125, 266), 500: (500, 500)}
"""Mean and largest number of servers a clique, by the longest latency inside one."""

RATIOS = {
    0.01: {"state": 2, "matching": 6, "node_stress": 30, "link_stress": 62, "nru": 126},
    0.1: {"state": 20, "matching": 46, "node_stress": 78, "link_stress": 98, "nru": 116},
    0.5: {"state": 30, "matching": 35, "node_stress": 92, "link_stress": 116, "nru": 111},
}
"""Kyra in percent of FBR, by rate of interest."""

SCHEMES = ("fbr", "mbr", "kyra")
_FIELDS = (("node_stress", "mean"), ("node_stress", "max"), ("link_stress", "mean"), ("link_stress", "max"))
_ROWS = {
    ("zipf-uniform", 0.01): ((77, 559, 23), (1828, 2154, 557), (32, 286, 20), (654, 2510, 560)),
    ("zipf-uniform", 0.1): ((416, 1791, 326), (4949, 9248, 1626), (173, 759, 171), (2475, 7338, 1743)),
    ("zipf-uniform", 0.5): ((1298, 1781, 1199), (8390, 9208, 3820), (491, 755, 548), (5211, 5872, 4606)),
    ("multimodal", 0.01): ((132, 693, 31), (2758, 2793, 72), (61, 359, 27), (1512, 4716, 189)),
    ("multimodal", 0.1): ((873, 1736, 565), (7318, 10046, 2136), (370, 777, 297), (4967, 7648, 2412)),
    ("multimodal", 0.5): ((1742, 1939, 1574), (10406, 10723, 4253), (668, 938, 746), (7695, 7933, 5070)),
}
STRESS = {
    setting: {field: dict(zip(SCHEMES, row, strict=True)) for field, row in zip(_FIELDS, rows, strict=True)}
    for setting, rows in _ROWS.items()
}
"""Stress by (model, rate), then by (measure, statistic), then by scheme."""
