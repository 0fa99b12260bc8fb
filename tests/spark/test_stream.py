"""Streams of events, against subscriptions that change while they run."""

import pytest
from pyspark.sql import functions as f

from siftcast import spark as ss
from siftcast.model import DataError, Schema
from tests.spark.stream_folders import SCHEMA


@pytest.mark.cluster
def test_a_change_takes_effect_in_the_next_micro_batch(folders):
    folders.change("1.jsonl", ("add", "low", "a < 2", 1), ("add", "high", "a >= 2", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1}, {"n": 2, "a": 2})
    query = folders.start()
    try:
        query.process_all_available()
        assert query.version == 1
        folders.change("2.jsonl", ("remove", "high", None, 2), ("replace", "low", "a < 5", 2))
        folders.publish("2.jsonl", {"n": 3, "a": 1}, {"n": 4, "a": 4})
        query.process_all_available()
        assert query.version == 2
        folders.publish("3.jsonl", {"n": 5, "a": 9})
        query.process_all_available()
        progress = query.progress()
    finally:
        query.stop()
    assert folders.pairs() == [(1, "low", 1, 0), (2, "high", 1, 0), (3, "low", 2, 1), (4, "low", 2, 1)]
    assert (progress.batch, progress.version, progress.subscriptions, progress.backlog) == (2, 2, 1, 0)
    assert progress.rows_per_second > 0
    assert not query.is_active
    assert query.await_termination()


def test_several_versions_at_once_lead_to_the_last(folders):
    folders.change("1.jsonl", ("replace", "x", "a = 2", 4), ("add", "x", "a = 1", 3))
    folders.publish("1.jsonl", {"n": 1, "a": 1}, {"n": 2, "a": 2})
    folders.run()
    assert folders.pairs() == [(2, "x", 4, 0)]


def test_without_subscriptions_nothing_matches_under_version_minus_one(folders):
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    query = folders.run(mode="lists")
    rows = ss.read_matches(folders.output).collect()
    assert [(row["n"], row["matched"], row["subscription_version"]) for row in rows] == [(1, [], -1)]
    assert query.version == -1


def test_a_stream_goes_on_where_it_stopped(folders):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1), ("add", "bad", "a =", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1}, "{bad")
    folders.run()
    folders.run()
    folders.publish("2.jsonl", {"n": 2, "a": 1})
    (folders.changes / "1.jsonl").unlink()  # it has been read, so it may go
    progress = folders.run().progress()
    assert folders.pairs() == [(1, "x", 1, 0), (2, "x", 1, 1)]
    assert (progress.run.events_in, progress.total.events_in, progress.total.batches) == (1, 3, 2)
    assert ss.read_dead_letters(folders.output).count() == 2  # once each, not again on each start


def test_counts_add_up_in_every_micro_batch_and_nothing_refused_is_lost(folders):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1), ("upsert", "y", "a = 1", 1), ("add", "x", "a = 2", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1}, {"n": 2, "a": 5}, "{bad", '{"n":3,"a":"text"}')
    folders.run()
    folders.change(
        "2.jsonl", ("remove", "nobody", None, 2), ("add", "z", "a <", 2), "nonsense", ("add", "late", "a = 1", 1)
    )
    folders.publish("2.jsonl", {"n": 4, "a": 1}, "[1]")
    folders.run()
    first, second = ss.read_batches(folders.output)
    for receipt in (first, second):
        assert receipt.events_in == receipt.events_matched + receipt.events_unmatched + receipt.events_rejected
        assert receipt.changes_in == receipt.changes_made + receipt.changes_rejected
    assert (first.events_in, first.events_matched, first.events_unmatched, first.events_rejected) == (4, 1, 1, 2)
    assert (first.changes_in, first.changes_made, second.changes_in, second.changes_made) == (3, 1, 4, 0)
    assert (second.events_in, second.events_rejected, second.version) == (2, 1, 1)
    letters = ss.read_dead_letters(folders.output).collect()
    assert all(letter["reason"] for letter in letters)
    found = sorted((letter["batch"], letter["input"], letter["source"]) for letter in letters)
    change = '{{"op": "{}", "id": "{}", "filter": {}, "version": {}}}'
    assert found == sorted(
        [
            (0, "events", "{bad"),
            (0, "events", '{"n":3,"a":"text"}'),
            (0, "subscriptions", change.format("upsert", "y", '"a = 1"', 1)),
            (0, "subscriptions", change.format("add", "x", '"a = 2"', 1)),
            (1, "events", "[1]"),
            (1, "subscriptions", change.format("remove", "nobody", "null", 2)),
            (1, "subscriptions", change.format("add", "z", '"a <"', 2)),
            (1, "subscriptions", "nonsense"),
            (1, "subscriptions", change.format("add", "late", '"a = 1"', 1)),
        ]
    )


@pytest.mark.parametrize(
    ("mode", "format"), [("lists", "json"), ("pairs", "csv"), pytest.param("lists", "orc", marks=pytest.mark.full)]
)
def test_results_come_in_other_formats(folders, mode, format):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1), ("add", "y", "a = 9", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1}, {"n": 2, "a": 2})
    folders.publish("2.jsonl", {"n": 3, "a": 2})
    folders.run(mode=mode, format=format)
    column = "matched" if mode == "lists" else "subscription_id"
    rows = ss.read_matches(folders.output).select("n", column, "subscription_version").collect()
    expected = [(1, "x", 1)] if mode == "pairs" else [(1, ["x"], 1), (2, [], 1), (3, [], 1)]
    assert sorted(map(tuple, rows)) == expected


def test_any_text_comes_back_from_csv(folders):
    texts = ["a\nb", " lead", "trail ", 'q"x', "back\\", "", None, "a,b", '\\"', "x\r\ny"]
    folders.change("1.jsonl", ("add", "x", "n >= 0", 1))
    folders.publish("1.jsonl", *({"n": number, "s": text} for number, text in enumerate(texts)))
    folders.run(ss.read_event_stream(folders.events, "n long, s string"), format="csv")
    found = {row["n"]: row["s"] for row in ss.read_matches(folders.output).collect()}
    assert [found[number] for number in range(len(texts))] == texts


def test_a_byte_that_is_no_text_stops_no_stream(folders):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1))
    (folders.events / "1.jsonl").write_bytes(b'{"n":1,"a":1}\n{"n":\xff}\n')
    folders.run()
    assert [row[:2] for row in folders.pairs()] == [(1, "x")]
    (letter,) = ss.read_dead_letters(folders.output).collect()
    assert (letter["reason"], letter["source"]) == ("not valid UTF-8 (byte 0xff at 6)", r'{"n":\xff}')


def test_csv_with_another_header_ends_the_stream(folders):
    folders.publish("1.csv", "a,n", "1,2")
    with pytest.raises(ss.SparkError, match="CSV header does not conform"), ss.short_errors():
        folders.run(ss.read_event_stream(folders.events, SCHEMA, "csv"))


def test_events_in_csv_and_parquet_and_a_schema_of_ours(spark, tmp_path):
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv").rename(tmp_path / "events.csv")
    (tmp_path / "events.csv" / "1.csv").write_text("n,a\n1,1\n2,x\n3,2\n")
    (tmp_path / "changes.csv").write_text("op,id,filter,version\nadd,x,a = 1,0\n")
    spark.createDataFrame([(1, 1)], SCHEMA).write.parquet(str(tmp_path / "events.parquet"))
    schema = Schema.parse('[[attribute]]\nname = "n"\ntype = "int"\n[[attribute]]\nname = "a"\ntype = "int"\n')
    counts = []
    for kind in ("csv", "parquet"):
        query = ss.match_stream(
            ss.read_event_stream(tmp_path / f"events.{kind}", schema),
            tmp_path / "changes.csv",
            output=tmp_path / f"{kind}-out",
            checkpoint=tmp_path / f"{kind}-checkpoint",
            trigger="available now",
            dead_letters=tmp_path / f"{kind}-letters",
            schema=schema,
        )
        query.await_termination()
        total = query.progress().total
        counts.append((total.events_in, total.events_matched, total.events_rejected, query.version))
    assert counts == [(3, 1, 1, 0), (1, 1, 0, 0)]
    letters = ss.read_dead_letters(tmp_path / "csv-out").collect()
    assert [(letter["source"], letter["reason"]) for letter in letters] == [
        ("2,x", "column 'a' holds 'x', which is not a bigint")
    ]
    assert (tmp_path / "csv-letters" / "batch=0").is_dir()


def test_any_stream_of_spark_will_do(spark, folders):
    folders.change("1.jsonl", ("add", "even", "half = 0", 1))
    events = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    query = folders.start(events.select(f.col("value").alias("n"), (f.col("value") % 2).alias("half")))
    try:
        while query.progress().total.events_in < 50:
            assert not query.await_termination(0.2)
    finally:
        query.stop()
    total = query.progress().total
    numbers = sorted(row["n"] for row in ss.read_matches(folders.output).collect())
    assert numbers == list(range(0, total.events_in, 2))
    assert query.progress().backlog is None


def test_a_reader_sees_committed_micro_batches_only_and_may_follow(spark, folders):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1))
    for number in range(3):
        folders.publish(f"{number}.jsonl", {"n": number, "a": 1})
    folders.run()
    seen = ss.read_matches(folders.output)
    spark.createDataFrame(
        [(9, 1, "x", 1)], "n long, a long, subscription_id string, subscription_version long"
    ).write.parquet(str(folders.output / "batch=3"))
    assert seen.count() == ss.read_matches(folders.output).count() == 3
    assert [row["batch"] for row in ss.read_matches(folders.output, after_batch=1).collect()] == [2]
    assert ss.read_dead_letters(folders.output).count() == 0


def test_what_cannot_work_is_refused_at_the_start(spark, folders, tmp_path):
    table = spark.createDataFrame([(1, 1)], SCHEMA)
    with pytest.raises(DataError, match="not a stream"):
        folders.start(table)
    stream = spark.readStream.schema("n long, Batch long").json(str(folders.events))
    with pytest.raises(DataError, match="'Batch'"):
        folders.start(stream)
    with pytest.raises(DataError, match="CSV holds no lists"):
        folders.start(mode="lists", format="csv")
    with pytest.raises(DataError, match="format of the results"):
        folders.start(format="xml")
    with pytest.raises(DataError, match="names and types"):
        ss.read_event_stream(folders.events, None)
    with pytest.raises(DataError, match="has written nothing"):
        ss.read_matches(tmp_path)


def test_folders_that_would_be_taken_for_each_other_are_refused(folders, tmp_path):
    root, output = tmp_path, folders.output
    for options in (
        {"output": folders.checkpoint},
        {"output": folders.events},
        {"output": folders.events / "results"},
        {"output": folders.changes / "results"},
        {"checkpoint": output / "checkpoint"},
        {"dead_letters": output},
        {"dead_letters": folders.events},
        {"checkpoint": root},
    ):
        wanted = {"output": output, "checkpoint": folders.checkpoint} | options
        with pytest.raises(DataError, match="name another folder"):
            ss.match_stream(ss.read_event_stream(folders.events, SCHEMA), folders.changes, **wanted)
    assert not output.exists()


def test_two_streams_have_two_folders_for_dead_letters(folders, tmp_path):
    folders.publish("1.jsonl", "broken")
    folders.run(dead_letters=tmp_path / "letters")
    folders.run(dead_letters=tmp_path / "letters")
    folders.output, folders.checkpoint = tmp_path / "output2", tmp_path / "checkpoint2"
    with pytest.raises(DataError, match="another stream"):
        folders.run(dead_letters=tmp_path / "letters")


def test_a_start_that_was_refused_leaves_nothing_that_binds(folders):
    with pytest.raises(DataError, match="the trigger is 'sometimes'"):
        folders.start(trigger="sometimes")
    assert not folders.output.exists()
    assert not folders.checkpoint.exists()
    folders.run(mode="lists")


def test_the_checkpoint_of_another_query_is_refused(spark, folders):
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    lines = spark.readStream.text(str(folders.events)).writeStream.format("noop").trigger(availableNow=True)
    lines.option("checkpointLocation", str(folders.checkpoint)).start().awaitTermination()
    with pytest.raises(DataError, match="another query of Spark"):
        folders.run()


def test_an_output_belongs_to_its_checkpoint(folders, tmp_path):
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    folders.run()
    with pytest.raises(DataError, match="has mode pairs, not lists"):
        folders.run(mode="lists")
    checkpoint, folders.checkpoint = folders.checkpoint, tmp_path / "other"
    with pytest.raises(DataError, match="its checkpoint was lost"):
        folders.run()
    folders.checkpoint, folders.output = checkpoint, tmp_path / "elsewhere"
    with pytest.raises(DataError, match="its output is not in"):
        folders.run()


def test_an_error_of_ours_ends_the_stream_as_itself(folders):
    folders.change("1.jsonl", ("add", "x", "a = 1", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    folders.run()
    with (folders.changes / "1.jsonl").open("a") as file:
        file.write('{"op":"add","id":"y","filter":"a = 1","version":2}\n')
    folders.publish("2.jsonl", {"n": 2, "a": 1})
    with pytest.raises(DataError, match="has changed since it was read"):
        folders.run()
    (folders.changes / "1.jsonl").unlink()
    folders.run()
    assert folders.pairs() == [(1, "x", 1, 0), (2, "x", 1, 1)]
