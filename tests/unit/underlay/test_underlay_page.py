"""The page about the underlay names every generator and reader; its example runs in tests/pages."""

from pathlib import Path

from siftcast.underlay.catalogue import FORMATS, GENERATORS

PAGE = Path(__file__).parents[3] / "docs" / "underlay.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_page_names_every_way_to_a_network():
    ways = [way.__name__ for way in (*GENERATORS.values(), *FORMATS.values())]
    assert all(name in TEXT for name in [*ways, "largest_component"])
