"""The experiments sweep on the same Spark session as the tests of Spark, on the same worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from siftcast import spark as ss
from tests.spark.conftest import MASTER

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(autouse=True, scope="session")
def spark_session() -> ss.SparkSession:
    """Started as the tests of Spark start it, whoever comes first."""
    return ss.session("siftcast tests", master=MASTER)
