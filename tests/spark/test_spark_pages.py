"""Pages whose examples need Spark: they run, one after the other; and the table of differences is the one tested."""

from pathlib import Path

import pytest

from siftcast import spark as ss
from siftcast.workloads import generate
from tests.pages.blocks import blocks_of, run_python
from tests.spark.test_spark_differences import DIFFERENCES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["spark", "spark-streaming", "clustering"])
def test_the_examples_of_a_page_run_one_after_the_other(name, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = f"docs/{name}.md"
    found = [block for block in blocks_of(page) if block.language == "python"]
    assert len(found) >= 3
    assert all("assert" in block.text for block in found)
    run_python(page, {})


@pytest.mark.full
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["spark-shards", "partitioning"])
def test_the_examples_of_a_page_run_on_the_quotes_that_it_speaks_of(name, tmp_path):
    generate("stock-quotes", events=2_000, subscriptions=200, seed=1).write(tmp_path / "quotes", formats=("parquet",))
    quotes = str(tmp_path / "quotes")
    names: dict[str, object] = {}
    run_python(f"docs/{name}.md", names, folder="quotes", put=quotes)
    if name == "spark-shards":
        assert names["pairs"].count() == ss.match(names["events"], names["subscriptions"]).count() > 0
    else:
        assert names["zones"].zones_of("symbol = 'IBM' AND price < 95")


@pytest.mark.parametrize("text", sorted({case[2].format(a="a", A="A") for case in DIFFERENCES}))
def test_every_tested_difference_is_on_the_page(text):
    page = (DOCS / "spark.md").read_text(encoding="utf-8")
    section = page.split("## How filters compare with Spark SQL")[1].split("\n## ")[0]
    assert f"`{text}`" in section
