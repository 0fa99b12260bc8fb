"""The experiments sweep on the same Spark session as the tests of Spark."""

from __future__ import annotations

import pytest

from siftcast import spark as ss
from tests.spark.conftest import MASTER


@pytest.fixture(autouse=True, scope="session")
def spark_session() -> ss.SparkSession:
    """Started as the tests of Spark start it, whoever comes first."""
    return ss.session("siftcast tests", master=MASTER)
