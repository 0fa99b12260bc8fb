"""The reference page of the filter language: its examples run, and its tables are complete."""

import re
from pathlib import Path

import pytest

import siftcast
from siftcast.model import ERRORS, Attribute, Event, Filter, SiftcastError
from siftcast.model.expression import COMPARATORS
from siftcast.model.lexer import KEYWORDS
from siftcast.planning.clustering import SubscriptionClusters
from siftcast.underlay import BalancedTree, read_brite
from siftcast.workloads import generate

PAGE = Path(__file__).parents[3] / "docs" / "filter-language.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks() -> list[tuple[int, str]]:
    """The Python examples, each with the line on which it starts."""
    found = re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return [(TEXT[: match.start(1)].count("\n"), match.group(1)) for match in found]


SHARED, *EXAMPLES = blocks()


def run(block: tuple[int, str], names: dict[str, object]) -> None:
    """Runs an example under the lines it has on the page, so that a failure points there."""
    line, source = block
    exec(compile("\n" * line + source, str(PAGE), "exec"), names)


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    shared: dict[str, object] = {}
    run(SHARED, shared)
    return shared


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"line {block[0]}")
def test_example_holds(block, names):
    assert "assert" in block[1]
    run(block, dict(names))


def test_page_has_an_example_for_every_section_about_meaning():
    assert len(EXAMPLES) >= 12


def error_rows() -> dict[str, list[str]]:
    section = TEXT.split("## Errors")[1].split("## ")[0]
    rows = [[cell.strip() for cell in line.split(" | ")] for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip("| `"): row[1:] for row in rows}


def test_every_error_code_is_listed_with_its_class():
    assert {code: row[0].strip("`") for code, row in error_rows().items()} == {
        kind.code: kind.__name__ for kind in ERRORS
    }


@pytest.mark.parametrize("kind", [kind for kind in ERRORS if kind.code != "data"], ids=lambda kind: kind.code)
def test_example_of_an_error_raises_it(kind):
    example = error_rows()[kind.code][2].strip(" |`")
    known = {
        "Filter": Filter,
        "Attribute": Attribute,
        "Event": Event,
        "Matcher": siftcast.Matcher,
        "generate": generate,
        "BalancedTree": BalancedTree,
        "SubscriptionClusters": SubscriptionClusters,
        "read_brite": read_brite,
    }
    with pytest.raises(SiftcastError) as caught:
        eval(example, known)
    assert type(caught.value) is kind


@pytest.mark.parametrize("word", [*sorted(KEYWORDS), *COMPARATORS, "==", "<>", "TIMESTAMP"])
def test_every_word_of_the_language_is_in_the_grammar(word):
    grammar = TEXT.split("## Grammar")[1]
    assert re.search(rf'"{re.escape(word)}"|\b{re.escape(word)}\b', grammar)
