"""docs/spark.md: its examples run, and its table of differences is the one that is tested."""

import re
from pathlib import Path

import pytest

from tests.spark.test_spark_differences import DIFFERENCES

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.usefixtures("spark")
def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = list(re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))
    assert len(found) >= 3
    names: dict[str, object] = {}
    for block in found:
        assert "assert" in block[1]
        line = TEXT[: block.start(1)].count("\n")  # so that a failure points to the page
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)


@pytest.mark.parametrize("text", sorted({case[2].format(a="a", A="A") for case in DIFFERENCES}))
def test_every_tested_difference_is_on_the_page(text):
    section = TEXT.split("## How filters compare with Spark SQL")[1].split("\n## ")[0]
    assert f"`{text}`" in section
