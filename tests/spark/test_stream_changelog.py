"""Changes of subscriptions: what is one, where they come from, and what is kept of them."""

import gzip
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siftcast.files import Rejection
from siftcast.model import DataError, EngineError, SubscriptionError
from siftcast.spark.changelog import Change, Poll, change_of, csv_rows, json_rows, table_rows
from siftcast.spark.changelog_sources import FileChangelog, open_changelog
from siftcast.spark.filter_check import FilterCheck
from siftcast.spark.stream_folders import local_folder, numbered, write_once
from siftcast.spark.stream_journal import Journal, Plan
from siftcast.spark.stream_standing import StandingSubscriptions


def change(op, id, filter="", version=1, dialect=None):
    return Change(op, id, filter, dialect, version, f"{op} {id} {version}")


# -- rows --------------------------------------------------------------------------------------------


def test_a_row_is_a_change():
    fields = {"op": " ADD", "id": "x", "filter": "a = 1", "version": 3}
    assert change_of(fields, "row") == Change("add", "x", "a = 1", None, 3, "row")
    assert change_of({"op": "remove", "id": 7, "filter": "ignored", "version": "12"}, "row").id == "7"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"op": "upsert"}, "'upsert'; it must be add, replace or remove"),
        ({"op": None}, "the op is missing"),
        ({"id": ""}, "the id is ''"),
        ({"id": True}, "the id is True"),
        ({"filter": None}, "the filter of 'x' is missing"),
        ({"filter": 5}, "the filter of 'x' is 5"),
        ({"dialect": 5}, "the dialect of 'x' is 5"),
        ({"version": None}, "the version is missing"),
        ({"version": -1}, "the version is -1"),
        ({"version": 1.5}, "the version is 1.5"),
        ({"version": "1x"}, "the version is '1x'"),
        ({"version": 2**63}, "whole number"),
    ],
)
def test_a_row_that_is_no_change_says_why(fields, reason):
    with pytest.raises(SubscriptionError, match=reason):
        change_of({"op": "add", "id": "x", "filter": "a = 1", "version": 1} | fields, "row")


def test_json_lines_that_cannot_be_read_become_letters_and_keep_their_text():
    good = b'{"op":"add","id":"x","filter":"a = 1","version":1}'
    rows = list(json_rows(b"\xef\xbb\xbf" + good + b"\r\n\n{nonsense\n[1]\n\xff\n" + good))
    assert [type(row) for row in rows] == [Change, Rejection, Rejection, Rejection, Change]
    assert rows[0].source == rows[-1].source == good.decode()
    assert rows[1].reason.startswith("not valid JSON: ")
    assert [row.reason for row in rows[2:4]] == [
        "a change must be a JSON object, not an array",
        "not valid UTF-8 (byte 0xff at 1)",
    ]
    assert [row.source for row in rows[1:3]] == ["{nonsense", "[1]"]


def test_csv_has_a_header_and_an_empty_cell_is_no_value():
    rows = list(csv_rows(b"version,op,id,filter\n1,add,x,\"s = 'a,b'\"\n2,remove,x,\n2,add,y,\n3,add\n"))
    assert rows[0] == Change("add", "x", "s = 'a,b'", None, 1, "1,add,x,\"s = 'a,b'\"")
    assert (rows[1].op, rows[1].version) == ("remove", 2)
    assert [row.reason for row in rows[2:]] == [
        "the filter of 'y' is missing; to add it needs one, as a string",
        "has 2 cells, but the header names 4 columns",
    ]


def test_rows_of_a_table_show_as_json():
    table = pa.table({"op": ["add", "no"], "id": [1, 2], "filter": ["a = 1", None], "version": [4, 4]})
    rows = list(table_rows(table))
    assert (rows[0].id, rows[0].version) == ("1", 4)
    assert json.loads(rows[1].source) == {"op": "no", "id": 2, "filter": None, "version": 4}


# -- files -------------------------------------------------------------------------------------------


def add(id, version=1, filter="a = 1"):
    return json.dumps({"op": "add", "id": id, "filter": filter, "version": version}) + "\n"


def test_each_file_is_read_once_in_the_order_of_names(tmp_path):
    journal = Journal(tmp_path / "state")
    folder = tmp_path / "changes"
    (folder / "later").mkdir(parents=True)
    changelog = FileChangelog(str(folder))
    assert changelog.poll(journal) == Poll()
    (folder / "b.jsonl").write_text(add("b"))
    (folder / "a.csv").write_text("op,id,filter,version\nadd,a,a = 1,1\n")
    (folder / "later" / "c.json.gz").write_bytes(gzip.compress(add("c").encode()))
    pq.write_table(pa.table({"op": ["add"], "id": ["d"], "filter": ["a = 1"], "version": [1]}), folder / "d.parquet")
    for unseen in (".hidden.json", "_SUCCESS", "e.jsonl.tmp"):
        (folder / unseen).write_text(add("unseen"))
    poll = changelog.poll(journal)
    assert [row.id for row in poll.rows] == ["a", "b", "d", "c"]
    journal.files.update(poll.files)
    assert changelog.poll(journal) == Poll()
    (folder / "b.jsonl").unlink()
    assert changelog.poll(journal) == Poll()


def test_a_file_that_changes_after_it_was_read_is_an_error(tmp_path):
    journal = Journal(tmp_path / "state")
    (tmp_path / "changes.jsonl").write_text(add("a"))
    changelog = FileChangelog(str(tmp_path / "changes.jsonl"))
    journal.files.update(changelog.poll(journal).files)
    (tmp_path / "changes.jsonl").write_text(add("a") + add("b", 2))
    with pytest.raises(DataError, match="has changed since it was read"):
        changelog.poll(journal)


def test_a_file_that_keeps_its_size_may_be_touched_but_not_changed(tmp_path):
    journal = Journal(tmp_path / "state")
    path = tmp_path / "changes.jsonl"
    path.write_text(add("a"))
    changelog = FileChangelog(str(path))
    journal.files.update(changelog.poll(journal).files)
    os.utime(path, (1, 1))
    assert changelog.poll(journal) == Poll()
    path.write_text(add("b"))
    with pytest.raises(DataError, match="has changed since it was read"):
        changelog.poll(journal)


def test_a_file_that_cannot_be_read_just_now_is_no_letter(tmp_path, monkeypatch):
    """It is read again after a restart; only what a file holds makes it a letter."""
    (tmp_path / "a.jsonl").write_text(add("a"))
    (tmp_path / "b.jsonl.gz").write_bytes(b"no gzip")
    changelog, journal = FileChangelog(str(tmp_path)), Journal(tmp_path / "_state")

    def fail(_self, _path):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FileChangelog, "_content", fail)
        with pytest.raises(OSError, match="Input/output"):
            changelog.poll(journal)
    first, second = changelog.poll(journal).rows
    assert (first.id, isinstance(second, Rejection)) == ("a", True)


def test_a_table_whose_texts_cannot_be_read_becomes_letters(tmp_path):
    raw = pa.array([b"a = 1", b"a = '\xff'"]).view(pa.string())
    rows = list(table_rows(pa.table({"op": ["add"] * 2, "id": ["x", "y"], "filter": raw, "version": [1, 1]})))
    assert rows[0].id == "x"
    assert (rows[1].reason, json.loads(rows[1].source)["filter"]) == ("not valid UTF-8", r"a = '\xff'")


def test_a_file_that_is_broken_as_a_whole_is_one_letter(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "y.jsonl").write_text(add("y"))
    rows = FileChangelog(str(tmp_path)).poll(Journal(tmp_path / "_state")).rows
    assert [row.source.rpartition("/")[2] for row in rows if isinstance(row, Rejection)] == ["notes.txt", "x.parquet"]
    assert [row.id for row in rows if isinstance(row, Change)] == ["y"]


def test_a_changelog_must_be_somewhere(spark, tmp_path):
    with pytest.raises(DataError, match="no such file, folder or table"):
        open_changelog(spark, tmp_path / "missing")
    with pytest.raises(DataError, match="format of the subscriptions"):
        open_changelog(spark, tmp_path, "xml")


# -- tables ------------------------------------------------------------------------------------------


def test_a_table_gives_its_new_rows_and_late_ones_too(spark, tmp_path):
    standing, journal = StandingSubscriptions(spark, None, "auto", FilterCheck()), Journal(tmp_path)

    def append(*rows):
        spark.createDataFrame(rows, "op string, id string, filter string, version bigint").write.mode("append").format(
            "parquet"
        ).saveAsTable("stream_changes")

    def take():
        poll = changelog.poll(journal)
        if poll.rows:
            journal.append(standing.take(poll.rows, {}, journal.version), with_sources=True)
        return poll.rows

    spark.sql("DROP TABLE IF EXISTS stream_changes")
    try:
        append(("add", "a", "x = 1", 1), ("add", "b", "x = 2", 1), ("add", "n", "x = 2", None))
        changelog = open_changelog(spark, "stream_changes")
        assert sorted(row.source for row in take())[0].startswith('{"op":"add","id":"a"')
        assert (journal.version, journal.rows, len(standing)) == (1, 3, 2)
        assert take() == ()
        append(("remove", "a", None, 2), ("add", "late", "x = 3", 1), ("add", "b", "x = 2", 1))
        assert len(take()) == 3
        assert (journal.version, journal.rows, len(standing)) == (2, 6, 1)
        assert sorted(json.loads(letter.source)["id"] for letter in journal.refused([1, 2])) == ["b", "late", "n"]
        assert take() == ()
    finally:
        spark.sql("DROP TABLE IF EXISTS stream_changes")


def test_a_table_needs_its_columns_and_may_not_shrink(spark, tmp_path):
    spark.createDataFrame([("a",)], "id string").createOrReplaceTempView("stream_view")
    with pytest.raises(DataError, match="no column 'op'"):
        open_changelog(spark, "stream_view")
    rows = spark.createDataFrame([("add", "a", "x = 1", 1)], "op string, id string, filter string, version int")
    rows.createOrReplaceTempView("stream_view")
    changelog = open_changelog(spark, "stream_view")
    journal = Journal(tmp_path)
    assert len(changelog.poll(journal).rows) == 1
    journal.rows = 2
    with pytest.raises(DataError, match="may only grow"):
        changelog.poll(journal)


# -- what stands -------------------------------------------------------------------------------------


def test_changes_are_made_by_version_and_those_that_do_not_fit_are_refused(spark, tmp_path):
    standing, journal = StandingSubscriptions(spark, None, "auto", FilterCheck()), Journal(tmp_path)
    lot = standing.take(
        [
            change("replace", "a", "x = 2", 2),
            change("add", "a", "x = 1", 1),
            change("add", "a", "x = 1", 1),
            change("add", "b", "x =", 1),
            change("remove", "c", version=2),
            change("replace", "c", "x = 1", 2),
            change("remove", "a", version=3),
            change("add", "a", "x = 3", 3),
        ],
        {"f": 1},
        journal.version,
    )
    assert [(made.op, made.version) for made in lot.made] == [("add", 1), ("replace", 2), ("remove", 3), ("add", 3)]
    assert [letter.source for letter in lot.refused] == ["add a 1", "add b 1", "remove c 2", "replace c 2"]
    assert [letter.code for letter in lot.refused] == ["subscription", "filter-syntax", "subscription", "subscription"]
    assert standing.shipment().load().match({"x": 3}) == ["a"]
    journal.append(lot, with_sources=False)
    late = standing.take([change("add", "z", "x = 1", 3)], {}, journal.version)
    assert "version 3 is closed" in late.refused[0].reason
    assert late.version == 3
    standing.close()


def test_a_row_that_is_refused_closes_no_version(spark):
    standing = StandingSubscriptions(spark, None, "auto", FilterCheck())
    lot = standing.take([change("add", "a", "x = 1", 1), change("remove", "nobody", version=2**63 - 1)], {}, -1)
    assert (lot.version, lot.version_read, len(lot.refused)) == (1, 2**63 - 1, 1)
    assert not standing.take([change("replace", "a", "x = 2", 2)], {}, lot.version).refused
    standing.close()


def test_only_a_lot_that_changed_something_is_shipped(spark):
    standing = StandingSubscriptions(spark, None, "auto", FilterCheck())
    standing.take([change("add", "a", "x = 1", 1)], {}, -1)
    first = standing.shipment()
    standing.take([change("add", "a", "x = 1", 2)], {}, 1)
    assert standing.shipment() is first
    standing.take([change("replace", "a", "x = 2", 3)], {}, 2)
    assert standing.shipment().key != first.key
    standing.close()


def test_a_journal_gives_back_what_stood_at_each_lot(spark, tmp_path):
    standing, journal = StandingSubscriptions(spark, None, "auto", FilterCheck()), Journal(tmp_path)
    lots = [
        [change("add", "a", "x = 1", 1), change("add", "b", "x = 1", 1)],
        [change("remove", "a", version=5), change("replace", "b", "x = 2", 5), change("remove", "q", version=5)],
        [change("add", "a", "x = 2", 6)],
    ]
    for number, rows in enumerate(lots):
        journal.append(standing.take(rows, {f"file{number}": number}, journal.version), with_sources=False)
    again = Journal(tmp_path)
    assert (again.version, again.lots, again.rows, again.files) == (6, 3, 6, {"file0": 0, "file1": 1, "file2": 2})
    assert [letter.source for letter in again.refused([1, 2, 3])] == ["remove q 5"]
    other = StandingSubscriptions(spark, None, "auto", FilterCheck())
    answers = []
    for lot in (0, 1, 2, 3, 1):
        other.restore(again, lot)
        answers.append([sorted(other.shipment().load().match({"x": value})) for value in (1, 2)])
    other.close()
    assert answers == [[[], []], [["a", "b"], []], [[], ["b"]], [[], ["a", "b"]], [["a", "b"], []]]


def test_plans_last_and_a_second_writer_is_refused(tmp_path):
    journal = Journal(tmp_path)
    assert journal.last_plan() is None
    journal.write_plan(Plan(0, 1, 1, 0))
    journal.write_plan(Plan(1, 4, 2, 1))
    assert Journal(tmp_path).last_plan() == Plan(1, 4, 2, 1)
    with pytest.raises(DataError, match="another driver"):
        journal.write_plan(Plan(1, 5, 3, 1))
    assert numbered(tmp_path / "plans", ".json") == [0, 1]
    journal.write_plan(Plan(100, 4, 2, 2))
    assert journal.plan(0) is None


def test_a_journal_with_a_gap_is_damaged(tmp_path):
    write_once(tmp_path / "journal" / "000000000002.parquet", b"")
    with pytest.raises(EngineError, match="lot 1 is missing"):
        Journal(tmp_path)


def test_state_must_be_where_files_can_be_renamed(tmp_path):
    assert local_folder(f"file://{tmp_path}/a%20b", "output") == tmp_path / "a b"
    with pytest.raises(DataError, match="must be a folder that this machine sees"):
        local_folder("s3://bucket/x", "checkpoint")
