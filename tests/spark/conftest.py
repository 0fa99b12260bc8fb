"""One Spark session for the whole folder, started when the first test asks for it.

All tests here go to one worker of pytest-xdist (with `--dist loadgroup`), because a second worker would start a second
JVM. A test that needs a session of its own starts another process.

`SIFTCAST_TEST_SPARK_MASTER` says where the session runs, as in `local-cluster[2,1,1024]` or `spark://host:7077`; a
cluster must see the temporary folders of the tests, and this Python with Siftcast in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from siftcast import spark as ss

MASTER = os.environ.get("SIFTCAST_TEST_SPARK_MASTER", "local[2]")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[ss.SparkSession]:
    made = ss.session("siftcast tests", master=MASTER)
    yield made
    made.stop()
