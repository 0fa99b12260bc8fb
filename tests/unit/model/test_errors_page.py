"""The page of errors: it has every code of every room, its classes come from `siftcast`, and its examples hold."""

import importlib
import pickle
import pkgutil
from pathlib import Path

import pyarrow as pa
import pytest

import siftcast
from siftcast import SiftcastError
from siftcast.planning.clustering import SubscriptionClusters
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.sim import parse_scenario
from siftcast.underlay import BalancedTree, read_brite
from siftcast.workloads import generate

PAGE = Path(__file__).parents[3] / "docs" / "errors.md"
ROWS = {
    cells[0].strip("| `"): [cell.strip() for cell in cells[1:]]
    for cells in (line.strip("|").split(" | ") for line in PAGE.read_text("utf-8").splitlines())
    if cells[0].startswith(" `")
}
FOR_EXAMPLES = {
    "BalancedTree": BalancedTree, "SubscriptionClusters": SubscriptionClusters, "generate": generate, "pa": pa,
    "parse_configuration": parse_configuration, "parse_scenario": parse_scenario, "read_brite": read_brite,
}  # fmt: skip


@pytest.fixture(scope="module")
def kinds() -> list[type[SiftcastError]]:
    """Every class of errors that any module defines; one that has no code of its own is its parent, to users."""
    for module in pkgutil.walk_packages(siftcast.__path__, "siftcast."):
        if module.name.rpartition(".")[2] in ("errors", "toml_files", "parameters", "reuse", "contract", "file"):
            importlib.import_module(module.name)
    return [kind for kind in descendants(SiftcastError) if "code" in vars(kind)]


def descendants(kind: type[SiftcastError]) -> list[type[SiftcastError]]:
    below = [each for child in kind.__subclasses__() for each in (child, *descendants(child))]
    return list(dict.fromkeys(below))


def test_errors_are_defined_only_in_the_modules_that_are_looked_at(kinds):
    source = Path(siftcast.__file__).parent
    defined = {
        line.split("(")[0].removeprefix("class ")
        for path in source.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("class ") and ("Error)" in line or "Error, " in line) and "Exception" not in line
    }
    known = {kind.__name__ for kind in descendants(SiftcastError)}
    assert {name for name in defined if name not in known} == set()


def test_the_page_has_every_error_with_its_class_and_its_meaning(kinds):
    expected = {}
    for kind in kinds:
        meaning = " ".join((kind.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        expected[kind.code] = [f"`{kind.__name__}`", meaning]
    assert {code: row[:2] for code, row in ROWS.items()} == expected
    assert all(row[2] for row in ROWS.values())


def test_codes_are_distinct(kinds):
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_every_error_can_be_imported_from_siftcast(kinds):
    missing = [kind.__name__ for kind in kinds if getattr(siftcast, kind.__name__, None) is not kind]
    assert missing == []
    assert [kind.__name__ for kind in kinds if kind.__name__ not in siftcast.__all__] == ["SparkError"]


def test_an_error_without_a_code_of_its_own_is_caught_as_the_class_of_its_code(kinds):
    classes = {kind.code: kind for kind in kinds}
    others = [kind for kind in descendants(SiftcastError) if kind not in kinds]
    assert {"NotClusteredError", "Damage"} <= {kind.__name__ for kind in others}
    assert [kind.__name__ for kind in others if not issubclass(kind, classes[kind.code])] == []


def test_a_message_survives_pickling(kinds):
    for kind in kinds:
        try:
            error = kind("something is wrong")
        except TypeError:  # those with fields, which tests of their own pickle
            continue
        assert str(pickle.loads(pickle.dumps(error))) == "something is wrong"


@pytest.mark.parametrize("code", [code for code, row in ROWS.items() if row[2].startswith("`")])
def test_example_of_an_error_raises_it(code):
    expression = ROWS[code][2].split("`")[1]
    with pytest.raises(SiftcastError) as caught:
        eval(expression, {name: getattr(siftcast, name) for name in siftcast.__all__} | FOR_EXAMPLES)
    assert caught.value.code == code


def test_most_errors_of_values_have_an_example():
    assert sum(row[2].startswith("`") for row in ROWS.values()) >= 15
