"""Everything that can happen to a network, in rows: what was acknowledged arrives, once, unaltered and in order.

`make test` plays one row and `make test-full` a few more, chosen to cover much in seconds; `make soak` lets every fault
strike every scheme, durable and ephemeral, in rows that are drawn from several seeds. A failure names the seed, the
faults, the folder that has all logs and data, and how to play the row again. Times are real, so the same seed gives the
same faults and not the same interleaving.
"""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from siftcast.runtimes.live.node.node import run
from tests.hostile.faults import names_of_faults, names_of_pairs
from tests.hostile.network import Setting
from tests.hostile.scene import HostileFailure, Run

SOAKING = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
LIMIT_S = 600.0 if SOAKING else 240.0
CHOSEN = {
    ("filter-based", True): ["corrupt + kill", "older disk"],
    ("kyra", True): ["reorder", "kill two", "guest killed"],
    ("match-early", True): ["exchanged", "guest", "damaged disk: flip"],
    ("kyra", False): ["drop up", "kill", "corrupt clients"],
}
SCHEMES: dict[str, dict[str, object]] = {
    "filter-based": {},
    "filter-based merging": {"summary": "merging"},
    "filter-based reuse": {"reuse": "partial-2"},
    "kyra": {},
    "kyra ring": {"clique_delivery": "ring"},
    "match-early": {},
    "broadcast": {},
    "unicast": {},
    "match-on-ring": {},
}
SEEDS = (1, 2)
ROW_FAULTS = 5
Row = tuple[str, bool, list[str], int]
"""Scheme, whether durable, faults and seed."""


def _rows() -> list[Row]:
    """The rows of this profile."""
    if not SOAKING:
        return [(scheme, durable, faults, 1) for (scheme, durable), faults in CHOSEN.items()]
    found = []
    for seed in SEEDS:
        for scheme in SCHEMES:
            for durable in (True, False):
                random = Random(f"{seed} {scheme} {durable}")
                names = names_of_faults(durable=durable)
                random.shuffle(names)
                names += random.sample(names_of_pairs(durable=durable), ROW_FAULTS)
                found += [
                    (scheme, durable, names[at : at + ROW_FAULTS], seed) for at in range(0, len(names), ROW_FAULTS)
                ]
    return found


def _marked(rows: list[Row]) -> list[Any]:
    """The first row for `make test`, all others for `make test-full` and `make soak`."""
    return [rows[0], *(pytest.param(row, marks=pytest.mark.full) for row in rows[1:])]


def _id(row: Row) -> str:
    scheme, durable, faults, seed = row
    return f"{scheme}-{'durable' if durable else 'ephemeral'}-{', '.join(faults)}-seed{seed}"


@pytest.mark.parametrize("row", _marked(_rows()), ids=_id)
def test_what_was_acknowledged_arrives_whatever_happens(
    row: Row, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scheme, durable, faults, seed = row
    name, options = scheme.partition(" ")[0], SCHEMES[scheme]
    setting = Setting(name, durable, 3 + seed % 3 if SOAKING else 3, options)
    played = Run(tmp_path, setting, faults, seed, events=60 if SOAKING else 20)
    try:
        verdict = run(played.play(LIMIT_S))
    except HostileFailure as failure:
        profile = "HYPOTHESIS_PROFILE=soak " if SOAKING else ""
        failure.add_note(f"again: {profile}python -m pytest '{request.node.nodeid}'")
        raise
    finally:
        print(*played.times, sep="\n")
    assert verdict.is_good, str(verdict)
    assert verdict.required >= 50
