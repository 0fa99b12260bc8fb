"""One Spark session for the whole folder, started when the first test asks for it.

Each worker of pytest-xdist has a session of its own: two JVMs take a gigabyte more and half the time. A test that
needs another kind of session starts another process.

`SIFTCAST_TEST_SPARK_MASTER` says where the session runs, as in `local-cluster[2,1,1024]` or `spark://host:7077`; a
cluster must see the temporary folders of the tests, and this Python with Siftcast in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from siftcast import spark as ss
from tests.spark.stream_folders import StreamFolders

MASTER = os.environ.get("SIFTCAST_TEST_SPARK_MASTER", "local[2]")


@pytest.fixture(scope="session")
def spark() -> Iterator[ss.SparkSession]:
    made = ss.session("siftcast tests", master=MASTER)
    yield made
    made.stop()


@pytest.fixture
def folders(spark: ss.SparkSession, tmp_path: Path) -> Iterator[StreamFolders]:
    """The folders of a stream; whatever still runs on them is stopped at the end."""
    yield StreamFolders(tmp_path)
    for query in spark.streams.active:
        query.stop()
