"""Seeded event and subscription generators: the papers' distributions and five application presets.

    from siftcast.workloads import generate, presets

    workload = generate("stock-quotes", events=10_000, subscriptions=1_000, seed=7)
    workload.write(Path("data"), formats=("parquet", "jsonl"))

A *preset* (catalogue.py) names a recipe, its source and its options. The recipes stand on distributions that
experiments use directly:

    content_values.py   popularity and volume of one-dimensional values: uniform, Zipf, multimodal   (Kyra)
    regional.py         interest that fades with distance                                            (Kyra)
    boxes.py            boxes with a chosen chance of being hit              (lookup reuse, thesis)
    hot_spots.py        80/20 hot spots, resting or moving                              (thesis)
    hot_spot_sets.py    hot spots that move where other interests lie                   (thesis)
    match_rates.py      box widths for a wanted match rate                              (thesis)

The seed decides everything, through named streams (streams.py): no step shares random numbers with another,
so more events do not change the subscriptions. This room knows `model` and nothing above it.
"""

from siftcast.workloads.boxes import BoxDraws, Boxes, IntegerDomain, draw_boxes, unit_boxes
from siftcast.workloads.catalogue import generate, presets
from siftcast.workloads.content_values import (
    ValueModel,
    draw_peaks,
    draw_weights,
    multimodal_values,
    scale_to_mean,
    uniform_values,
    zipf_values,
)
from siftcast.workloads.hot_spot_sets import HotSpotSets, draw_hot_spot_sets
from siftcast.workloads.hot_spots import (
    NO_SPOT,
    HotSpots,
    SpotPoints,
    draw_hot_spots,
    draw_ranks,
    moving_points,
    zipf_weights,
)
from siftcast.workloads.match_rates import calibrate_length, uniform_length
from siftcast.workloads.preset import ApplicationProfile, Preset
from siftcast.workloads.regional import RegionalModel, plane_distances, regional_model
from siftcast.workloads.streams import Streams
from siftcast.workloads.workload import Workload

__all__ = [
    "NO_SPOT",
    "ApplicationProfile",
    "BoxDraws",
    "Boxes",
    "HotSpotSets",
    "HotSpots",
    "IntegerDomain",
    "Preset",
    "RegionalModel",
    "SpotPoints",
    "Streams",
    "ValueModel",
    "Workload",
    "calibrate_length",
    "draw_boxes",
    "draw_hot_spot_sets",
    "draw_hot_spots",
    "draw_peaks",
    "draw_ranks",
    "draw_weights",
    "generate",
    "moving_points",
    "multimodal_values",
    "plane_distances",
    "presets",
    "regional_model",
    "scale_to_mean",
    "uniform_length",
    "uniform_values",
    "unit_boxes",
    "zipf_values",
    "zipf_weights",
]
