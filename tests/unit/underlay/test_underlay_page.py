"""The page about the underlay names every generator and reader; its example runs in tests/pages."""

from pathlib import Path

import siftcast.underlay

PAGE = Path(__file__).parents[3] / "docs" / "underlay.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_page_names_every_way_to_a_network():
    ways = [name for name in siftcast.underlay.__all__ if name.startswith("read_")]
    assert all(name in TEXT for name in [*ways, "TransitStub", "Waxman", "BalancedTree", "largest_component"])
