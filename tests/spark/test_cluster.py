"""The same answers on a cluster of two workers, whose executors are processes of their own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.test_spark_java import without_java

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
CLUSTER = "local-cluster[2,1,1024]"
VARIABLE = "SIFTCAST_TEST_SPARK_MASTER"


@pytest.mark.cluster
def test_tasks_run_in_as_many_executors_as_the_master_says(spark):
    def parents(batches):
        """Who started this worker: the daemon of its executor."""
        for batch in batches:
            time.sleep(0.5)  # so that no executor is done before the other one has begun
            yield pa.RecordBatch.from_arrays([pa.array([os.getppid()] * batch.num_rows)], ["daemon"])

    executors = 2 if spark.sparkContext.master == CLUSTER else 1
    daemons = spark.range(0, 8, 1, 8).mapInArrow(parents, "daemon long").distinct().collect()
    assert len(daemons) == executors


@pytest.mark.embedded
def test_the_tests_pass_on_a_cluster_of_two_workers_with_the_bundled_java(tmp_path):
    """In another process, because a process has one session: those that are marked, with `make soak` all."""
    chosen = "not embedded" if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else "cluster"
    environment = without_java(tmp_path) | {VARIABLE: CLUSTER, "HYPOTHESIS_PROFILE": "default"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    # Without the optimising compiler three JVMs start faster, which is most of what this test takes.
    environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", chosen, str(HERE)]
    run = subprocess.run(command, cwd=HERE.parents[1], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout.splitlines()[-1]
