"""What can go wrong with Spark itself; mistakes in data keep the errors of `model.errors`."""

from __future__ import annotations

from siftcast.model import SiftcastError


class SparkError(SiftcastError):
    """Spark cannot be started or used as asked; says what would help."""

    code = "spark"
