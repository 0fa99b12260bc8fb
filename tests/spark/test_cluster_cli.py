"""`siftcast spark cluster`: paths in, clusters and a summary of messages out."""

import json

import pytest

from siftcast.interfaces.cli.app import main
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_cluster import cluster
from siftcast.model import ClusteringError, DataError
from siftcast.workloads import generate

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def files(tmp_path):
    generate("clustering-hotspots", events=300, subscriptions=120, seed=1).write(tmp_path, formats=("jsonl",))
    return {
        "events": str(tmp_path / "events.jsonl"),
        "subscriptions": str(tmp_path / "subscriptions.jsonl"),
        "output": str(tmp_path / "clusters"),
        "schema": None,
    }


def test_clusters_are_written_and_the_summary_says_what_they_save(spark, files, capsys):
    assert cluster(**files, clusters=8, json=True) == OK
    report = json.loads(capsys.readouterr().out)
    messages = report["messages"]
    assert report["subscriptions"] == 120
    assert report["clusters"] == 8
    assert len({each["wanted"] for each in messages.values()}) == 1
    assert list(messages) == ["together", "at_random", "equal_at_random", "clusters"]
    assert messages["clusters"]["sent"] < messages["at_random"]["sent"] <= messages["together"]["sent"]
    assert messages["clusters"]["sent"] < messages["equal_at_random"]["sent"] <= messages["together"]["sent"]
    rows = spark.read.parquet(files["output"]).collect()
    assert len(rows) == 120
    assert sum(row["cluster"] is None for row in rows) == report["unmatched"]
    with pytest.raises(DataError, match="--force"):
        cluster(**files, clusters=8)


@pytest.mark.full
def test_groups_and_levels_a_bad_row_and_a_summary_for_a_person(spark, files, capsys):
    with open(files["subscriptions"], "a", encoding="utf-8") as file:
        file.write('{"id":"bad","filter":"a1 <"}\n')
    options = ["--levels", "2", "--groups", "3", "--landmarks", "0.4", "--kmeans", "sampling", "-k", "6"]
    options += ["--output-format", "csv"]
    paths = [f"--{name}={files[name]}" for name in ("events", "subscriptions", "output")]
    assert main(["spark", "cluster", *paths, *options]) == REJECTED
    said = " ".join(capsys.readouterr().out.split())
    assert "from 3 groups on 2 levels" in said
    assert "these clusters" in said
    assert "rejected 1 rows" in said
    assert spark.read.csv(files["output"], header=True).columns == ["subscription_id", "cluster", "recent_matches"]


def test_mistakes_are_said_in_one_line(files):
    with pytest.raises(DataError, match="there is no such file"):
        cluster(**files | {"events": files["events"] + "x"}, clusters=5)
    with pytest.raises(ClusteringError, match="landmarks are a share"):
        cluster(**files, clusters=5, landmarks="many")
    with pytest.raises(ClusteringError, match="cannot form 500 clusters"):
        cluster(**files, clusters=500, quiet=True)
