"""The page about the live network: its examples run as they stand, and it names the tests of what it promises."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_page_hold(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    shown = "".join(line[2:] + "\n" for line in EXAMPLES[number].splitlines() if line.startswith("# "))
    exec(compile(EXAMPLES[number], str(PAGE), "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_page_names_tests_that_exist() -> None:
    named = set(re.findall(r"test_\w+\.py", TEXT))
    assert len(named) >= 5
    assert all((Path(__file__).parent / name).exists() for name in named)
