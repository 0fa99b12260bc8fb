"""Pages whose examples need Spark: they run, one after the other; and the table of differences is the one tested."""

import re
from pathlib import Path

import pytest

from tests.spark.test_spark_differences import DIFFERENCES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["spark", "spark-streaming", "clustering"])
def test_the_examples_of_a_page_run_one_after_the_other(name, tmp_path, monkeypatch):
    page = DOCS / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert len(found) >= 3
    names: dict[str, object] = {}
    for block in found:
        assert "assert" in block[1]
        line = text[: block.start(1)].count("\n")  # so that a failure points to the page
        exec(compile("\n" * line + block[1], str(page), "exec"), names)


@pytest.mark.parametrize("text", sorted({case[2].format(a="a", A="A") for case in DIFFERENCES}))
def test_every_tested_difference_is_on_the_page(text):
    page = (DOCS / "spark.md").read_text(encoding="utf-8")
    section = page.split("## How filters compare with Spark SQL")[1].split("\n## ")[0]
    assert f"`{text}`" in section
