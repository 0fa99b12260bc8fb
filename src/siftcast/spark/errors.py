"""What can go wrong with Spark itself; mistakes in data keep the errors of `model.errors`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException

from siftcast.model import DataError, SiftcastError

_LINES_MAX = 4
_REASONS_MAX = 3


class SparkError(SiftcastError):
    """Spark cannot be started or used as asked; says what would help."""

    code = "spark"


def first_reasons(lines: Sequence[str], total: int | None = None) -> str:
    """The first of many reasons, as lines of an error, and how many more there are; `total` if not all are at hand."""
    count = len(lines) if total is None else total
    shown = "\n".join(f"  {line}" for line in lines[:_REASONS_MAX])
    return shown + (f"\n  and {count - _REASONS_MAX:,} more" if count > _REASONS_MAX else "")


@contextmanager
def short_errors() -> Iterator[None]:
    """Turns what Spark raises into our errors with its first lines: for command lines, where nobody reads the rest."""
    try:
        yield
    except (AnalysisException, IllegalArgumentException) as error:
        raise DataError(first_lines(error, 1)) from error
    except (PySparkException, Py4JError) as error:
        raise SparkError(f"Spark failed: {first_lines(error, _LINES_MAX)}") from error


def first_lines(error: Exception, count: int) -> str:
    """What Spark said before the stack trace, without py4j's preface and the class of the exception."""
    whole = str(error)
    text = whole.split("JVM stacktrace")[0].split("\n\tat ")[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("An error occurred while call")]
    causes = re.findall(r"^Caused by: [\w.$]+: (.+)", whole, re.MULTILINE)
    shown = [*lines[:count], *causes[-1:]] if "FAILED_READ_FILE" in text else lines[:count]  # it names the file alone
    return "\n".join(re.sub(r"^: [\w.$]+: ", "", line) for line in shown)
