"""`ss.session`: one way to a session, wherever the program runs."""

import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from siftcast import spark as ss
from siftcast.spark import compiled, gateway, workers
from siftcast.spark.progress import Progress
from siftcast.spark.session import _defaults_file, _java_options, cores_of, driver_memory_gib

pytestmark = pytest.mark.embedded


def test_a_running_session_is_used_again_and_the_log_says_so_in_one_line(spark, caplog):
    with caplog.at_level(logging.INFO, "siftcast.spark"):
        assert ss.session().sparkContext is spark.sparkContext  # PySpark may wrap it anew after a stream
    assert [record.getMessage() for record in caplog.records] == [
        f"Spark {spark.version}, the session that is running (local[2])"
    ]


def test_it_is_found_from_another_thread_too(spark):
    found = []
    thread = threading.Thread(target=lambda: found.append(ss.session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext


def test_another_master_or_a_fixed_setting_is_refused_while_it_runs(spark):
    with pytest.raises(ss.SparkError, match="stop it before starting one on local"):
        ss.session(master="local[7]")
    with pytest.raises(ss.SparkError, match=r"'spark\.driver\.memory' cannot be changed"):
        ss.session(config={"spark.driver.memory": "3g"})
    ss.session(config={"spark.sql.shuffle.partitions": 4})
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"


def test_the_embedded_session_is_set_up_as_promised(spark):
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.ui.enabled") == "false"
    assert "-XX:+UseSerialGC" in conf.get("spark.driver.extraJavaOptions")
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert os.getcwd() not in spark.conf.get("spark.sql.warehouse.dir")
    assert not ss.is_connect(spark)


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[ 4 , 2]", 4), ("local-cluster[2,3,1024]", 6), ("local[0]", 1)],
)
def test_cores_are_read_from_a_local_master(master, cores):
    assert cores_of(master) == cores


def test_all_cores_are_those_this_process_may_use():
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cores_of("local[*]") == expected


@pytest.mark.parametrize(("memory_gib", "given"), [(1, 1), (4, 1), (16, 4), (256, 8)])
def test_the_jvm_gets_a_quarter_of_the_memory_within_bounds(memory_gib, given):
    assert driver_memory_gib(memory_gib * 2**30) == given


def test_a_defaults_file_of_the_user_is_read(tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text("# comment\nspark.master  spark://host:7077\nspark.x.y=1 2\n\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _defaults_file() == {"spark.master": "spark://host:7077", "spark.x.y": "1 2"}


def test_only_one_collector_is_asked_for(tmp_path):
    theirs = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC -Dx=1"}
    assert "SerialGC" not in _java_options(tmp_path, {}, theirs, quiet=True)
    assert _java_options(tmp_path, {}, theirs, quiet=True).endswith("-XX:+UseG1GC -Dx=1")
    assert "SerialGC" in _java_options(tmp_path, {}, {}, quiet=True)


def test_a_jvm_that_does_not_start_is_quoted(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'WARNING: noise' >&2\necho 'no such luck' >&2\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setattr(gateway, "SparkContext", None)
    with pytest.raises(ss.SparkError, match=r"Spark did not start(.|\n)*no such luck") as caught:
        gateway.start_context({"spark.master": "local"}, {"JAVA_HOME": str(tmp_path)}, quiet=True)
    assert "noise" not in str(caught.value)


def test_spark_connect_gets_the_matcher_as_a_file(tmp_path, monkeypatch):
    """By a stand-in for a session, so that it is tested also where the packages for Spark Connect are not installed."""
    sent = {}

    class FakeConnect:
        def addArtifacts(self, path, *, file):  # noqa: N802 (Spark's name)
            assert file
            sent[os.path.basename(path)] = Path(path).read_bytes()

    FakeConnect.__module__ = "pyspark.sql.connect.session"
    monkeypatch.setattr(compiled, "check_workers", lambda spark: None)
    shipment = compiled.ship(FakeConnect(), b"the matcher", ("price",))
    (name,) = sent
    (tmp_path / name).write_bytes(sent[name])
    monkeypatch.setattr(compiled, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path)))
    assert pickle.loads(pickle.dumps(shipment.fetch))() == b"the matcher"
    (tmp_path / name).unlink()
    assert shipment.fetch() == b"the matcher"  # in the client, which has no such file
    assert b"the matcher" not in pickle.dumps(shipment.fetch)


def test_workers_without_the_package_are_found_before_the_first_task(spark, monkeypatch):
    """By the name of a package that nobody has, as workers elsewhere may not have ours."""
    with pytest.raises(ss.SparkError, match=r"cannot import no_such_package: Python 3(.|\n)*pip install"):
        workers.ask_worker(spark, "no_such_package")
    workers.ask_worker(spark)
    monkeypatch.setattr(workers, "version", lambda package: "0.0.0")
    with pytest.raises(ss.SparkError, match=r"have siftcast \d.*, but this is 0\.0\.0"):
        workers.ask_worker(spark)


def test_a_session_is_asked_once_and_not_where_workers_run_this_python(spark, monkeypatch):
    asked = []
    monkeypatch.setattr(workers, "ask_worker", asked.append)
    monkeypatch.setattr(workers, "_asked", set())
    assert workers.runs_here(spark)
    workers.check_workers(spark)
    assert not asked
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python-of-another-environment")
    workers._asked.clear()
    assert not workers.runs_here(spark)
    workers.check_workers(spark)
    workers.check_workers(spark)
    assert len(asked) == 1


def test_workers_need_not_import_what_only_clustering_needs():
    """Each imports the package before its first task; scikit-learn would take more time than all the rest."""
    look = "import sys, siftcast.spark.matching; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
    assert callable(ss.cluster_cost)
    assert callable(ss.cluster_stream)


def test_progress_is_told_while_a_job_runs(spark):
    seen = []
    slow = spark.range(0, 4, 1, 4).mapInArrow(wait, "id long")
    with ss.watch(spark, seen.append, interval_s=0.02):
        slow.count()
    assert any(progress.tasks_total >= 4 and progress.tasks_running > 0 for progress in seen)
    assert all(0 <= progress.share <= 1 for progress in seen)
    deadline = time.monotonic() + 30  # Spark learns of a stage's end a moment after the job has returned
    while (idle := ss.progress_now(spark)) != Progress(0, 0, 0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert idle == Progress(0, 0, 0, 0)
    assert Progress(1, 0, 0, 0).share == 0


def wait(batches):
    import time

    for batch in batches:
        time.sleep(1.0)
        yield batch
