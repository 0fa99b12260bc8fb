"""One Spark session for the whole folder, started when the first test asks for it.

All tests here go to one worker of pytest-xdist (with `--dist loadgroup`), because a second worker would start a second
JVM. A test that needs a session of its own starts another process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from siftcast import spark as ss

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[ss.SparkSession]:
    made = ss.session("siftcast tests", master="local[2]")
    yield made
    made.stop()
