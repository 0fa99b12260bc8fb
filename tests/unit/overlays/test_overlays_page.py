"""The page about overlays names every scheme; its example runs in tests/pages."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "overlays.md"
TEXT = PAGE.read_text(encoding="utf-8")
PROTOCOLS = Path(__file__).parents[3] / "src" / "siftcast" / "overlays" / "protocols"


def test_page_names_every_scheme():
    sources = [path.read_text(encoding="utf-8") for path in PROTOCOLS.rglob("*.py")]
    schemes = {
        name for text in sources for name in re.findall(r"^class (\w+)\(\w*(?:Protocol|Movement)\):", text, re.M)
    }
    assert {"Kyra", "MulticastBased", "FilterBased"} <= schemes
    # Routing trees are the upper level of Kyra, and no scheme by themselves.
    assert {name for name in schemes if f"`{name}`" not in TEXT} <= {"RoutingTrees"}
