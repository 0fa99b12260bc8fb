"""One function that gives a Spark session, wherever the program runs.

    a session is running already        that one, even if it is one of Spark Connect
    master="sc://…" or SPARK_REMOTE     a session of Spark Connect; "local[…]" there starts a server on this machine
    started by spark-submit             what spark-submit says
    master=…, SPARK_MASTER or MASTER    that cluster, with this process as its driver
    otherwise                           embedded: all cores of this machine, inside a JVM that ends with the program

The embedded session is set up for starting fast and staying out of the way: no web interface, as many shuffle
partitions as a machine can use, a garbage collector without threads of its own, nothing written into the current
folder, no port open to the network. The user's settings win: `config`, PYSPARK_SUBMIT_ARGS, spark-defaults.conf.
"""

from __future__ import annotations

import atexit
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from siftcast.spark.errors import SparkError
from siftcast.spark.gateway import added_environment, start_context, write_logging
from siftcast.spark.java import Java, find_java

_log = logging.getLogger("siftcast.spark")
_LOOPBACK = "127.0.0.1"
_GIB = 2**30


def session(
    app: str = "siftcast",
    *,
    master: str | None = None,
    config: Mapping[str, object] | None = None,
    quiet: bool = True,
) -> SparkSession:
    """The session that is running, or a new one; says in one line of the log (`siftcast.spark`, INFO) what it uses.

    With `quiet` Spark shows errors only; without, it logs and draws its progress as it is used to.
    """
    wanted = {name: _setting(value) for name, value in (config or {}).items()}
    running = active_session()
    if running is not None:
        return _reuse(running, master, wanted)
    remote = master if master is not None and master.startswith("sc://") else None
    if remote is None and master is None:
        remote = os.environ.get("SPARK_REMOTE")
    if remote is not None:
        made = _connect(app, remote, wanted)
        _log.info("Spark %s through Spark Connect at %s", made.version, remote)
        return made
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM and knows the master
        return _submitted(app, master, wanted)
    return _launch(app, master, wanted, quiet=quiet)


def active_session() -> SparkSession | None:
    """The session of this process, of whichever kind; None where there is none."""
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        remote = connect.SparkSession.getActiveSession()
        if remote is not None:
            return remote  # type: ignore[no-any-return]
    if SparkContext._active_spark_context is None:
        return None
    # A thread that did not start the session has no active one, yet the builder gives it the default.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def is_connect(spark: object) -> bool:
    """Whether a session is one of Spark Connect, which has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def check_session(spark: object) -> None:
    """Raises SparkError for what is neither a session of Spark nor one of Spark Connect, which is of another class."""
    if not isinstance(spark, SparkSession) and not (type(spark).__name__ == "SparkSession" and is_connect(spark)):
        raise SparkError(f"this needs a Spark session, as session() gives, not {type(spark).__name__}")


def _reuse(running: SparkSession, master: str | None, wanted: Mapping[str, str]) -> SparkSession:
    where = "Spark Connect" if is_connect(running) else running.sparkContext.master
    if master is not None and master != where and not is_connect(running):
        raise SparkError(f"a session on {where} is running already; stop it before starting one on {master}")
    for name, value in wanted.items():
        if running.conf.get(name, None) != value:
            try:
                running.conf.set(name, value)
            except Exception as error:
                raise SparkError(f"'{name}' cannot be changed while a session is running; stop it first") from error
    _log.info("Spark %s, the session that is running (%s)", running.version, where)
    return running


def _connect(app: str, remote: str, wanted: Mapping[str, str]) -> SparkSession:
    environment = {}
    if remote.startswith("local"):
        environment = {"JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable}
    try:
        with added_environment(environment):
            return SparkSession.builder.appName(app).config(map=dict(wanted)).remote(remote).getOrCreate()
    except ImportError as error:
        raise SparkError(
            f"Spark Connect needs more packages: pip install 'siftcast[spark-connect]' ({error})"
        ) from error


def _submitted(app: str, master: str | None, wanted: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(app).config(map=dict(wanted))
    made = (builder if master is None else builder.master(master)).getOrCreate()
    _log.info("Spark %s under spark-submit, %s", made.version, made.sparkContext.master)
    return made


def _launch(app: str, master: str | None, wanted: Mapping[str, str], *, quiet: bool) -> SparkSession:
    java = find_java()
    told = _defaults_file()
    where = master or os.environ.get("SPARK_MASTER") or os.environ.get("MASTER") or wanted.get("spark.master")
    where = where or told.get("spark.master") or "local[*]"
    folder = Path(tempfile.mkdtemp(prefix="siftcast-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {name: value for name, value in _settings(where, folder, quiet=quiet).items() if name not in told}
    settings |= {**wanted, "spark.app.name": app, "spark.master": where}
    settings["spark.driver.extraJavaOptions"] = _java_options(folder, told, wanted, quiet=quiet)
    environment = {"JAVA_HOME": str(java.home)}
    if where.startswith("local"):
        # A host name that does not resolve, as in many containers, must not keep an embedded Spark from starting.
        environment |= {"SPARK_LOCAL_IP": _LOOPBACK, "SPARK_LOCAL_HOSTNAME": "localhost"}
        environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    else:
        environment["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    start_context(settings, environment, quiet=quiet)
    if quiet:
        # PySpark logs some exceptions, trace and all, before it raises them.
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    made = SparkSession.builder.getOrCreate()
    if where.startswith("local-cluster"):  # its workers keep their logs within Spark's own folder
        logs = Path(_find_spark_home(), "work", made.sparkContext.applicationId)
        atexit.register(shutil.rmtree, logs, ignore_errors=True)
    _log.info("%s", _describe(made, where, java, settings))
    return made


def _settings(master: str, folder: Path, *, quiet: bool) -> dict[str, str]:
    """What a session has unless the user says otherwise."""
    cores = cores_of(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false" if quiet else "true",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.python.worker.reuse": "true",
    }
    if master.startswith("local"):
        memory = f"{driver_memory_gib(_memory_bytes())}g"
        settings |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", memory),
            "spark.driver.maxResultSize": "0",  # results are subscriptions and counts; the memory is the limit
        }
    return settings


def _java_options(folder: Path, told: Mapping[str, str], wanted: Mapping[str, str], *, quiet: bool) -> str:
    """Ours first: of two options that contradict each other Java takes the last."""
    ours = f"-XX:+UseSerialGC -Dlog4j2.configurationFile={write_logging(folder, quiet=quiet).as_uri()}"
    theirs = wanted.get("spark.driver.extraJavaOptions", told.get("spark.driver.extraJavaOptions", ""))
    if re.search(r"-XX:\+Use\w+GC", theirs):  # Java refuses two collectors
        ours = ours.partition(" ")[2]
    return f"{ours} {theirs}".strip()


def cores_of(master: str) -> int:
    """How many tasks run at once under a local master; for a cluster, whose size is not known, the cores here."""
    cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master)
    if cluster:
        return max(1, int(cluster[1]) * int(cluster[2]))
    if master == "local":
        return 1
    local = re.match(r"local\[\s*(\d+)", master)
    if local:
        return max(1, int(local[1]))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def driver_memory_gib(memory_bytes: int) -> int:
    """A quarter of the memory for the JVM: the Python workers, which hold the matchers, need the larger part."""
    return max(1, min(8, memory_bytes // _GIB // 4))


def _memory_bytes() -> int:
    """The memory this process may use: that of the machine, or of its container where that is less."""
    limits = []
    try:
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8")))
    except (ValueError, OSError, AttributeError):
        pass
    return min(limits, default=4 * _GIB)


def _defaults_file() -> dict[str, str]:
    """What the user's spark-defaults.conf sets; spark-submit applies it, but only where the command line is silent."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        return {}
    found = re.findall(r"^\s*(spark\.\S+?)\s*[\s=:]\s*(\S.*?)\s*$", text, re.MULTILINE)
    return dict(found)


def _setting(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(made: SparkSession, master: str, java: Java, settings: Mapping[str, Any]) -> str:
    memory = settings.get("spark.driver.memory")
    return ", ".join(
        [
            f"Spark {made.version} on {master} ({cores_of(master)} cores)",
            str(java),
            f"Python {platform.python_version()}",
            *([f"{memory} for the JVM"] if memory else []),
        ]
    )
