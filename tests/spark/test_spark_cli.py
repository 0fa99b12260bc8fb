"""`siftcast spark match`: paths in, a table and counts that add up out."""

import json

import pytest

from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_commands import match
from siftcast.model import DataError, SiftcastError

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n{"a":2}\n{"a":"x"}\n{"a":3}\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,a = 1\nfew,a < 3\nbad,a <\n")
    (tmp_path / "schema.toml").write_text('[[attribute]]\nname = "a"\ntype = "int"\n')
    return {
        "events": str(tmp_path / "events.jsonl"),
        "subscriptions": str(tmp_path / "subscriptions.csv"),
        "output": str(tmp_path / "out"),
        "schema": tmp_path / "schema.toml",
    }


def test_pairs_are_written_rejects_beside_them_and_the_counts_add_up(spark, files, capsys):
    assert match(**files, json=True) == REJECTED
    report = json.loads(capsys.readouterr().out)
    assert report["events_in"] == report["events_matched"] + report["events_unmatched"] + report["events_rejected"] == 4
    assert report["subscriptions_in"] == report["subscriptions_used"] + report["subscriptions_rejected"] == 3
    assert report["rejected"] == files["output"] + ".rejected"
    pairs = spark.read.parquet(files["output"]).collect()
    assert sorted((row["a"], row["subscription_id"]) for row in pairs) == [(1, "few"), (1, "one"), (2, "few")]
    letters = spark.read.json(report["rejected"]).collect()
    assert sorted(row["source"] for row in letters) == ['{"a":"x"}', '{"id":"bad","filter":"a <"}']


def test_lists_in_another_format_and_a_summary_for_a_person(spark, files, capsys):
    assert match(**files, output_mode="lists", output_format="json") == REJECTED
    said = " ".join(capsys.readouterr().out.split())
    assert "4 = 2 matched + 1 unmatched + 1 rejected" in said
    assert "3 = 2 used + 1 rejected" in said
    assert spark.read.json(files["output"]).count() == 3


def test_what_exists_is_replaced_only_by_force(files, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,a = 1\n")
    assert match(**files, quiet=True) == OK
    with pytest.raises(DataError, match="--force"):
        match(**files, quiet=True)
    assert match(**files, quiet=True, force=True) == OK


def test_mistakes_are_found_before_spark_starts_or_said_in_one_line(files):
    with pytest.raises(DataError, match="there is no such file"):
        match(**files | {"events": files["events"] + "x"})
    with pytest.raises(SiftcastError, match="nonsense") as caught:
        match(**files, format="nonsense", quiet=True)
    assert len(str(caught.value).splitlines()) == 1
