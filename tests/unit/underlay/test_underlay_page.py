"""The page about the underlay: its example runs as it stands, and it names every generator and reader."""

import re
from pathlib import Path

import siftcast.underlay

PAGE = Path(__file__).parents[3] / "docs" / "underlay.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_example_of_the_page_holds(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("2,500 routers, 4,469 links (8,938 arcs)")


def test_page_names_every_way_to_a_network():
    ways = [name for name in siftcast.underlay.__all__ if name.startswith("read_")]
    assert all(name in TEXT for name in [*ways, "TransitStub", "Waxman", "BalancedTree", "largest_component"])
