"""The page about the live network names the tests of what it promises; its examples run in tests/pages."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_names_tests_that_exist() -> None:
    named = set(re.findall(r"test_\w+\.py", TEXT))
    assert len(named) >= 5
    assert all((Path(__file__).parent / name).exists() for name in named)
