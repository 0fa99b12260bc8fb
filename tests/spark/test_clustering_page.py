"""docs/clustering.md: its examples run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "clustering.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.usefixtures("spark")
def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = list(re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))
    assert len(found) >= 4
    names: dict[str, object] = {}
    for block in found:
        assert "assert" in block[1]
        line = TEXT[: block.start(1)].count("\n")  # so that a failure points to the page
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
