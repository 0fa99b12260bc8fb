"""The house style as a test: what a machine can judge about the files of this repository.

A rule looks at one file and yields its offences, each with a line. Rules are data: every one carries the
files it is for, snippets that break it and one that keeps it, so that no rule can rot into one that never
fails. Files are those that git tracks or would track, which leaves out environments, caches and results.

To add a rule, write a function and a `Rule` at the bottom of the table.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES_MAX = 600
WRITTEN_SUFFIXES = {".cfg", ".css", ".html", ".js", ".md", ".py", ".sh", ".sql", ".toml", ".yaml", ".yml"}
FORBIDDEN_NAMES = {"common", "helper", "helpers", "manager", "utils"}
# Spelled in pieces, here and in the snippets below, so that this file keeps its own rules.
MARKERS = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|work|tmp|Users)/")
CLOCKS = {
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "datetime.date.today",
}
GENERATORS = {"random.Random", "numpy.random.default_rng"}
CHECKERS = {"fail", "raises", "run_state_machine_as_test", "warns"}
CHECKER_PREFIXES = ("assert_", "check_", "expect_", "verify_")
MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
INLINE_CODE = re.compile(r"`[^`]*`")

Offence = tuple[int, str]
Find = Callable[[PurePosixPath, str], Iterator[Offence]]
Select = Callable[[PurePosixPath], bool]


# ----------------------------------------------------------------------------------------------------
# Which files a rule is for


def is_written(path: PurePosixPath) -> bool:
    """Code and prose that people write; data, the lock and the licence are as long as they are."""
    return path.suffix in WRITTEN_SUFFIXES or path.name == "Makefile" or path.parts[0] == ".ci"


def is_module(path: PurePosixPath) -> bool:
    return path.suffix == ".py"


def is_source(path: PurePosixPath) -> bool:
    return is_module(path) and path.parts[0] == "src"


def is_package(path: PurePosixPath) -> bool:
    return is_source(path) and path.name == "__init__.py"


def is_test(path: PurePosixPath) -> bool:
    return is_module(path) and path.parts[0] == "tests" and path.name.startswith("test_")


def is_markdown(path: PurePosixPath) -> bool:
    return path.suffix == ".md"


def is_source_outside(*rooms: str) -> Select:
    """Source files of every room but these."""
    return lambda path: is_source(path) and path.parts[2] not in rooms


def is_file(name: str) -> Select:
    return lambda path: path == PurePosixPath(name)


# ----------------------------------------------------------------------------------------------------
# Rules about text


def find_excess_length(_path: PurePosixPath, text: str) -> Iterator[Offence]:
    if (count := len(text.splitlines())) > LINES_MAX:
        yield LINES_MAX + 1, f"{count} lines, at most {LINES_MAX}: look for the second concept"


def find_markers(_path: PurePosixPath, text: str) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := MARKERS.search(line):
            yield number, f"{match[0]}: do it now, or write an issue"


def find_machine_paths(_path: PurePosixPath, text: str) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := MACHINE_PATH.search(line):
            yield number, f"{match[0]}… exists on one machine only"


def find_forbidden_name(path: PurePosixPath, _text: str) -> Iterator[Offence]:
    for part in path.with_suffix("").parts:
        if (word := part.split("_")[-1].lower()) in FORBIDDEN_NAMES:
            yield 1, f"“{word}” says nothing: name the module after the concept it holds"


def find_broken_links(path: PurePosixPath, text: str) -> Iterator[Offence]:
    watched = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            watched = not watched
        if watched:
            continue
        for inline, reference in MARKDOWN_LINK.findall(INLINE_CODE.sub("", line)):
            target = unquote((inline or reference).partition("#")[0])
            if target and not re.match(r"[a-z]+:", target) and not (ROOT / path.parent / target).exists():
                yield number, f"link to {target}, which is not there"


def find_unmentioned_version(_path: PurePosixPath, text: str) -> Iterator[Offence]:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if not re.search(rf"^## \[{re.escape(version)}\]", text, re.MULTILINE):
        yield 1, f"no heading for version {version} of pyproject.toml"


def find_addresses(_path: PurePosixPath, text: str) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), 1):
        if "://" in line or re.match(r"\s*(-i|-f|--(extra-)?index-url|--find-links)\b", line):
            yield number, "the lock holds versions and hashes; each machine knows where to get them"


# ----------------------------------------------------------------------------------------------------
# Rules about code


@cache
def parse(path: PurePosixPath, text: str) -> ast.Module:
    return ast.parse(text, filename=str(path))


def find_missing_docstring(path: PurePosixPath, text: str) -> Iterator[Offence]:
    if not ast.get_docstring(parse(path, text)):
        yield 1, "no docstring: say what this is and why it is so"


def find_prints(path: PurePosixPath, text: str) -> Iterator[Offence]:
    for node in ast.walk(parse(path, text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno, "print(): return it, and let an interface show it"


def imported_names(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `import numpy as np` gives np → numpy. Relative ones are ours."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                origin = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or origin] = origin
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def qualified_name(node: ast.AST, names: dict[str, str]) -> str | None:
    """`np.random.seed` as numpy.random.seed; None for what does not start with an imported name."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := qualified_name(node.value, names)):
        return f"{owner}.{node.attr}"
    return None


def find_clock_readings(path: PurePosixPath, text: str) -> Iterator[Offence]:
    """Mentions count as well as calls: a clock handed over as a default is as hidden as one that is read."""
    names = imported_names(tree := parse(path, text))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (name := qualified_name(node, names)) in CLOCKS:
            yield node.lineno, f"{name}: time enters through an argument"


def find_global_randomness(path: PurePosixPath, text: str) -> Iterator[Offence]:
    names = imported_names(tree := parse(path, text))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (node.args or node.keywords):
            if (name := qualified_name(node.func, names)) in GENERATORS:
                yield node.lineno, f"{name}() without a seed: every run would differ"
        elif isinstance(node, ast.expr) and (name := qualified_name(node, names)) and name not in GENERATORS:
            module, _, function = name.rpartition(".")
            if module in ("random", "numpy.random") and not function[0].isupper():
                yield node.lineno, f"{name}: draw from a seeded generator handed over at construction"


@cache
def scheme_names() -> frozenset[str]:
    """The names of all schemes: of the files that make one."""
    files = (ROOT / "src/siftcast/schemes").glob("*.py")
    return frozenset(each.stem.replace("_", "-") for each in files if "\nSCHEME = " in each.read_text(encoding="utf-8"))


def find_scheme_names(path: PurePosixPath, text: str) -> Iterator[Offence]:
    names = scheme_names()
    for node in ast.walk(parse(path, text)):
        if isinstance(node, ast.Constant) and node.value in names:
            yield node.lineno, f"{node.value!r}: a scheme says itself what a runtime must know about it"


def find_whole_nodes(path: PurePosixPath, text: str) -> Iterator[Offence]:
    """Annotations count: whoever is handed the whole can use all of it."""
    for node in ast.walk(parse(path, text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("siftcast.runtimes.live.node"):
            for alias in node.names:
                if alias.name in ("Node", "Life"):
                    yield node.lineno, f"{alias.name}: a part is given what it needs, not the whole"


def is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in CHECKERS or name.startswith(CHECKER_PREFIXES)
    return False


def find_tests_without_check(path: PurePosixPath, text: str) -> Iterator[Offence]:
    for node in ast.walk(parse(path, text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test_") and not any(map(is_check, ast.walk(node))):
            yield node.lineno, f"{node.name} checks nothing, so it cannot fail"


# ----------------------------------------------------------------------------------------------------
# The table


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the files it is for, and the proof that it bites.

    Each text in `bad` breaks the rule and `good` keeps it, in a file named `at` (or, if bad, `bad_at`).
    """

    name: str
    select: Select
    find: Find
    bad: tuple[str, ...]
    good: str
    at: str = "src/siftcast/model/event.py"
    bad_at: str | None = None


RULES = [
    Rule(
        name="files are short",
        select=is_written,
        find=find_excess_length,
        bad=("x = 1\n" * (LINES_MAX + 1),),
        good="x = 1\n" * LINES_MAX,
    ),
    Rule(
        name="no work is left for later",
        select=is_written,
        find=find_markers,
        bad=("# TO" + "DO: finish", "x = 1  # FIX" + "ME"),
        good="todos = 1",
    ),
    Rule(
        name="no path of one machine",
        select=is_written,
        find=find_machine_paths,
        bad=('open("/' + 'tmp/x")', "cd /" + "home/me", "file:///" + "work/x", "/" + "root/.cache"),
        good="src/root/x ../work/y example.org/home/z",
    ),
    Rule(
        name="module names say something",
        select=is_module,
        find=find_forbidden_name,
        bad=("",),
        bad_at="src/siftcast/model/parse_helpers.py",
        good="",
        at="src/siftcast/model/common_prefix.py",
    ),
    Rule(
        name="every module has a docstring",
        select=is_source,
        find=find_missing_docstring,
        bad=("x = 1", "", "# A comment is none."),
        good='"""Events."""',
    ),
    Rule(
        name="every package has a docstring",
        select=is_package,
        find=find_missing_docstring,
        bad=("", "from .event import Event"),
        good='"""The data model."""',
        at="src/siftcast/model/__init__.py",
    ),
    Rule(
        name="only interfaces print",
        select=is_source_outside("interfaces"),
        find=find_prints,
        bad=("print(1)", "def f():\n    print()"),
        good="pprint(1); self.print(2)",
    ),
    Rule(
        name="randomness is handed over",
        select=is_source,
        find=find_global_randomness,
        bad=(
            "import random\nrandom.shuffle(x)",
            "import random as r\nr.seed(1)",
            "from random import choice\nchoice(x)",
            "import numpy as np\nnp.random.seed(1)",
            "import numpy as np\nx = np.random.rand(3)",
            "from numpy.random import default_rng\nrng = default_rng()",
            "import random\nrng = random.Random()",
        ),
        good=(
            "import random\nimport numpy as np\nfrom .random import draw\n"
            "a = random.Random(1)\nb: np.random.Generator = np.random.default_rng(2)\nb.shuffle(draw(a))"
        ),
    ),
    Rule(
        name="time is handed over",
        select=is_source_outside("interfaces", "runtimes"),
        find=find_clock_readings,
        bad=(
            "import time\nnow = time.time()",
            "from time import monotonic\nnow = monotonic()",
            "import datetime as dt\nnow = dt.datetime.now(dt.UTC)",
            "from datetime import datetime\nnow = datetime.now()",
            "import time\ndef f(clock=time.time): ...",
        ),
        good="import time\nfrom datetime import datetime\nx = datetime.fromisoformat(s), time.perf_counter()",
    ),
    Rule(
        name="runtimes name no scheme",
        select=lambda path: is_source(path) and path.parts[2] == "runtimes",
        find=find_scheme_names,
        bad=('if scheme == "kyra": ...', 'known = ("match-early",)'),
        good='"""Runs kyra."""\nx = "multicast"',
        at="src/siftcast/runtimes/live/node/layout.py",
    ),
    Rule(
        name="no part of a node receives the node",
        select=lambda path: (
            is_source(path) and path.parts[2:5] == ("runtimes", "live", "node") and path.stem not in ("node", "life")
        ),
        find=find_whole_nodes,
        bad=(
            "from siftcast.runtimes.live.node.node import Node",
            "if TYPE_CHECKING:\n    from siftcast.runtimes.live.node.life import Lasting, Life",
        ),
        good="from siftcast.runtimes.live.node.peers import Tell",
        at="src/siftcast/runtimes/live/node/sessions.py",
    ),
    Rule(
        name="a test can fail",
        select=is_test,
        find=find_tests_without_check,
        bad=("def test_a():\n    f()", "class TestA:\n    async def test_a(self):\n        assert True"),
        good="def test_a():\n    with pytest.raises(E):\n        f()\ndef test_b():\n    assert_close(1, x)",
        at="tests/unit/test_event.py",
    ),
    Rule(
        name="links lead somewhere",
        select=is_markdown,
        find=find_broken_links,
        bad=("[x](missing.md)", "![x](missing.png#y)", '[x](missing.md "title")', "[x]: missing.md"),
        good="[a](../pyproject.toml#x) [b](https://example.org) [c](#d) `[e](f)`\n```\n[g](h)\n```\n",
        at="tests/README.md",
    ),
    Rule(
        name="the changelog knows the version",
        select=is_file("CHANGELOG.md"),
        find=find_unmentioned_version,
        bad=("## [0.0.0]\n",),
        good=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        at="CHANGELOG.md",
    ),
    Rule(
        name="the lock names no registry",
        select=is_file("requirements.lock"),
        find=find_addresses,
        bad=("--index-url x", "-f wheels", "a @ https://example.org/a.whl"),
        good="a==1 \\\n    --hash=sha256:00\n    # via b",
        at="requirements.lock",
    ),
]


# ----------------------------------------------------------------------------------------------------
# The tests


@cache
def repository_files() -> tuple[PurePosixPath, ...]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(PurePosixPath(name) for name in sorted(set(listing.split("\0"))) if (ROOT / name).is_file())


each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name.replace(" ", "-"))


@each_rule
def test_repository_obeys(rule: Rule) -> None:
    offences = [
        f"{path}:{line}: {message}"
        for path in repository_files()
        if rule.select(path)
        for line, message in rule.find(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not offences, "\n".join([rule.name, *offences])


@each_rule
def test_rule_bites(rule: Rule) -> None:
    path = PurePosixPath(rule.bad_at or rule.at)
    assert rule.select(path)
    for text in rule.bad:
        assert list(rule.find(path, text)), f"not noticed: {text[:80]!r}"


@each_rule
def test_rule_spares_what_keeps_it(rule: Rule) -> None:
    path = PurePosixPath(rule.at)
    assert rule.select(path)
    assert list(rule.find(path, rule.good)) == []


def test_exempt_rooms_are_exempt() -> None:
    select = is_source_outside("interfaces", "runtimes")
    assert not select(PurePosixPath("src/siftcast/runtimes/live/node/node.py"))
    assert select(PurePosixPath("src/siftcast/__init__.py"))


def test_every_folder_of_modules_is_a_package() -> None:
    """Without `__init__.py` a folder is a namespace package, which the import contracts do not see."""
    files = repository_files()
    folders = {path.parent for path in files if is_source(path) and len(path.parts) > 2}
    assert not sorted(str(folder) for folder in folders if folder / "__init__.py" not in files)


def test_files_are_found() -> None:
    assert PurePosixPath("tests/test_tidy.py") in repository_files()
