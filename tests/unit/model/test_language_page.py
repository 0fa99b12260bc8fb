"""The reference page of the filter language has all of its words; its examples run in tests/pages."""

import re
from pathlib import Path

import pytest

from siftcast.model.expression import COMPARATORS
from siftcast.model.lexer import KEYWORDS

PAGE = Path(__file__).parents[3] / "docs" / "filter-language.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_page_has_an_example_for_every_section_about_meaning():
    assert TEXT.count("\n```python\n") >= 13


@pytest.mark.parametrize("word", [*sorted(KEYWORDS), *COMPARATORS, "==", "<>", "TIMESTAMP"])
def test_every_word_of_the_language_is_in_the_grammar(word):
    grammar = TEXT.split("## Grammar")[1]
    assert re.search(rf'"{re.escape(word)}"|\b{re.escape(word)}\b', grammar)
