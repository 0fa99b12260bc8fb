"""Starting Spark's JVM so that a user sees none of it unless something is wrong.

PySpark starts the JVM with the terminal as its standard error. Java and Spark then greet the user with warnings about
modules, native libraries and log levels that nobody can act on. Here the JVM writes into a pipe. A thread passes on
what comes out of it, except the lines of the JVM's own warnings. Until Spark is up, it holds everything back; if
Spark does not come up, that is what the error says. PySpark's own error has no reason in it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from siftcast.spark.errors import SparkError

# Java's warnings begin like this; Spark's log lines begin with "spark:", as LOGGING has it.
_NOISE = (b"WARNING: ", b"OpenJDK 64-Bit Server VM warning: ", b"Picked up ")
_HELD_LINES_MAX = 40
_STDERR = 2

# Errors go to standard error. The loggers that are off repeat what the exception in Python says anyway.
LOGGING = """\
status = off
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %p %c{{1}}: %m%n%ex{{short}}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.writer.name = org.apache.spark.sql.execution.datasources
logger.writer.level = off
logger.writer2.name = org.apache.spark.sql.execution.datasources.v2
logger.writer2.level = off
logger.streaming.name = org.apache.spark.sql.execution.streaming
logger.streaming.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
logger.python.name = org.apache.spark.api.python
logger.python.level = {level}
"""


def write_logging(folder: Path, *, quiet: bool) -> Path:
    """The configuration of Spark's log, in a file as Spark wants it."""
    path = folder / "log4j2.properties"
    path.write_text(LOGGING.format(level="error" if quiet else "warn"), encoding="utf-8")
    return path


def start_context(settings: Mapping[str, str], environment: Mapping[str, str], *, quiet: bool) -> SparkContext:
    """Starts a JVM with these settings and this addition to the environment; raises SparkError with what it said."""
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    with added_environment(environment):
        if not quiet:
            return SparkContext(conf=conf)
        pump = _Pump()
        try:
            streams = {"stdout": pump.sink, "stderr": pump.sink}
            gateway = launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            pump.close()
            raise SparkError(_complaint(error, pump.held())) from error
        pump.open()
        return context


class _Pump:
    """Copies lines from a pipe to standard error: held back at first, then passed on without the noise."""

    def __init__(self) -> None:
        self._source, self.sink = os.pipe()
        self._held: deque[bytes] = deque(maxlen=_HELD_LINES_MAX)
        self._passing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siftcast-spark-stderr", daemon=True)
        self._thread.start()

    def open(self) -> None:
        """Forgets what was held and passes on what comes from now on."""
        self._passing.set()
        os.close(self.sink)  # the JVM has its own copy, and its end is then the end of the pipe

    def close(self) -> None:
        """Waits for the last words of a JVM that failed; not for long, one that hangs would keep the pipe open."""
        os.close(self.sink)
        self._thread.join(timeout=2)

    def held(self) -> list[str]:
        """What was said so far."""
        return [line.decode(errors="replace").rstrip() for line in list(self._held)]

    def _run(self) -> None:
        with os.fdopen(self._source, "rb") as lines:
            for line in lines:
                if line.startswith(_NOISE):
                    continue
                if self._passing.is_set():
                    _write_all(line)
                else:
                    self._held.append(line)


def _write_all(line: bytes) -> None:
    try:
        while line:
            line = line[os.write(_STDERR, line) :]
    except OSError:
        pass  # nobody listens any more; the JVM must still be able to write


def _complaint(error: Exception, said: list[str]) -> str:
    reason = error.getMessage() if isinstance(error, PySparkException) else str(error)
    lines = [f"Spark did not start: {str(reason).strip().splitlines()[0] if str(reason).strip() else error!r}"]
    return "\n".join([*lines, *(f"  {line}" for line in said[:_HELD_LINES_MAX])])


@contextmanager
def added_environment(addition: Mapping[str, str]) -> Iterator[None]:
    """PySpark reads its settings from the environment; it gets them only while the JVM starts."""
    before: dict[str, Any] = {name: os.environ.get(name) for name in addition}
    os.environ.update(addition)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
