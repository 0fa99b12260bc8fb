"""The audit log: who did what, when, with what outcome; never tokens or payloads; and what happens on a full disk."""

import asyncio
import contextlib
import io
import json
import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import siftcast
from siftcast import Event
from siftcast.interfaces.cli import main
from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.errors import ConnectionLost, Forbidden, LiveError, Refused, Unauthorised
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.audit import Audit, Who
from siftcast.runtimes.live.node.configuration import AuditSpec, parse_configuration
from siftcast.runtimes.live.node.rights import hash_token, new_token
from siftcast.runtimes.live.storage.audit_file import WAITING_MAX, AuditFile, files_of
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running, running_from, url_of, write_configuration
from tests.live.test_commands import Served, finish
from tests.live.test_rights import principal

DESK, ADMIN = new_token(), new_token()
BOTH = principal("desk", DESK, 'publish = "n < 10"\nsubscribe = "n < 10"') + principal(
    "admin", ADMIN, 'publish = "TRUE"\nsubscribe = "TRUE"\nsee = true\noperate = true'
)
AUDIT = '[audit]\nfile = "audit.jsonl"\n'
SECRET = "nobody's business"


def rows_of(folder: Path, **wanted: object) -> list[dict[str, Any]]:
    """The lines that have these values."""
    text = (folder / "audit.jsonl").read_text()
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    return [row for row in rows if wanted.items() <= row.items()]


def said(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["what"], row["outcome"]) for row in rows]


@on_loop
async def test_each_deed_has_a_line_with_who_what_and_outcome(tmp_path: Path) -> None:
    async with running(f'data = "data"\n{BOTH}{AUDIT}', tmp_path) as node:
        async with siftcast.connect(url_of(node), token=DESK, name="quotes") as desk:
            async with desk.subscribe("n < 5") as stream:
                await stream.replace("n < 4")
            with pytest.raises(Forbidden):
                await desk.subscribe("n < 50").ready()
            async with desk.subscribe("n < 5", durable="kept"):
                pass
            async with desk.subscribe("n < 3", durable="kept") as stream:
                await stream.replace("n < 2")
            await desk.dead_letters("kept")
            await desk.end_durable("kept")
            with pytest.raises(Forbidden):
                await desk.describe()
            with pytest.raises(Forbidden):
                await operating.reload(desk)
        await until(lambda: not node.life.sessions.open)
        rows = rows_of(tmp_path, client="quotes")
        assert said(rows) == [
            ("login", "ok"),
            ("subscribe", "ok"), ("replace", "ok"), ("unsubscribe", "ok"),
            ("subscribe", "forbidden"),
            ("subscribe", "ok"), ("unsubscribe", "ok"),
            ("subscribe", "ok"), ("replace", "ok"), ("unsubscribe", "ok"),
            ("read dead letters", "ok"), ("end durable", "ok"),
            ("describe", "forbidden"), ("reload", "forbidden"),
            ("logout", "ok"),
        ]  # fmt: skip
        assert {row["principal"] for row in rows} == {"desk"}
        assert all(row["address"].startswith("127.0.0.1:") and row["node"] == "node" for row in rows)
        assert [row.get("filter") for row in rows[1:3]] == ["n < 5", "n < 4"]
        assert [(row["durable"], row["made"]) for row in rows if "made" in row] == [("kept", True), ("kept", False)]
        assert "may subscribe only within" in rows[4]["reason"]
        async with siftcast.connect(url_of(node), token=ADMIN, name="chief") as chief:
            await chief.describe()
            await chief.trace("e-1")
            await chief.dry_run({"n": 1, "secret": SECRET})
            with pytest.raises(Refused):
                await operating.forget(chief, "nobody", lambda _: None)
            with pytest.raises(SiftcastError):
                await operating.apply(chief, f'[[principal]]\nname = "x"\ntoken_hash = "{hash_token(DESK)}"', print)
        found = rows_of(tmp_path, client="chief")
        assert [(row["what"], row.get("question"), row.get("event")) for row in found[2:4]] == [
            ("inquire", "trace", "e-1"), ("inquire", "reach", None)
        ]  # fmt: skip
        (forgotten,) = [row for row in found if row["what"] == "forget"]
        assert (forgotten["forgotten"], forgotten["outcome"]) == ("nobody", "refused")
        text = (tmp_path / "audit.jsonl").read_text()
        assert hash_token(DESK) not in text
        assert SECRET not in text


@on_loop
async def test_publishes_are_counted_and_neither_tokens_nor_payloads_are_in_it(tmp_path: Path) -> None:
    async with running(BOTH + AUDIT, tmp_path) as node:
        with pytest.raises(Unauthorised):
            await siftcast.connect(url_of(node), token="a guess").__aenter__()
        async with siftcast.connect(url_of(node), token=DESK) as desk:
            for n in range(20):
                with contextlib.suppress(Forbidden):
                    await desk.publish(Event({"n": n, "word": SECRET}, payload=SECRET.encode()))
    (count,) = rows_of(tmp_path, what="publishes")
    assert (count["principal"], count["published"], count["refused"]) == ("desk", 10, 10)
    (first,) = rows_of(tmp_path, what="publish")
    assert first["outcome"] == "forbidden", "the first of a minute has a line, the others are counted"
    (stranger,) = rows_of(tmp_path, what="login", outcome="unauthorised")
    assert stranger["reason"] == "its token is not known here"
    text = (tmp_path / "audit.jsonl").read_text()
    for word in (DESK, "a guess", SECRET):
        assert word not in text


@on_loop
async def test_filters_can_be_left_out(tmp_path: Path) -> None:
    async with running(BOTH + AUDIT + "filters = false\n", tmp_path) as node:
        async with siftcast.connect(url_of(node), token=DESK) as desk:
            await desk.subscribe("n < 5").ready()
        (row,) = rows_of(tmp_path, what="subscribe")
        assert "filter" not in row
        assert "n < 5" not in (tmp_path / "audit.jsonl").read_text()


@on_loop
async def test_what_an_operator_changed_and_whom_that_put_out_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    async with running_from(path, BOTH + AUDIT) as node, siftcast.connect(url_of(node), token=ADMIN) as chief:
        async with siftcast.connect(url_of(node), token=DESK, name="quotes"):
            write_configuration(path, BOTH.replace(hash_token(DESK), hash_token("another")) + AUDIT)
            await operating.reload(chief)
            (row,) = rows_of(tmp_path, what="put out")
            assert (row["principal"], row["client"], row["outcome"]) == ("desk", "quotes", "unauthorised")
            (row,) = rows_of(tmp_path, what="configuration read again")
            assert (row["changed"], row["put_out"]) == (["principal"], 1)
        (tmp_path / "audit.jsonl").rename(tmp_path / "taken away.jsonl")
        await operating.reload(chief)
        assert rows_of(tmp_path, what="configuration read again"), "a file that was moved is begun again"


def spec(**given: Any) -> AuditSpec:
    return AuditSpec(file="audit.jsonl", **given)


def test_a_full_file_moves_on_and_the_oldest_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    file = AuditFile(path, 4_096, 3)
    for number in range(1_000):
        file.append(json.dumps({"number": number, "more": "x" * 50}).encode() + b"\n")
    file.close()
    files = files_of(path)
    assert [each.name for each in files] == ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]
    assert all(each.stat().st_size <= 4_096 for each in files)
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in files)
    numbers = [json.loads(line)["number"] for each in files for line in each.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 1_000))


def test_a_line_that_a_crash_cut_off_is_ended_before_another_begins(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"what": "a"}\n{"what": "b')
    path.chmod(0o644)
    file = AuditFile(path, 4_096, 2)
    file.append(b'{"what": "c"}\n')
    file.close()
    assert path.read_bytes() == b'{"what": "a"}\n{"what": "b\n{"what": "c"}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_full_disk_does_not_take_waits_is_bounded_and_counted() -> None:
    file = AuditFile(Path("/dev/full"), 4_096, 2)
    line = b"x" * 1_023 + b"\n"
    for _ in range(2 * WAITING_MAX // len(line)):
        with pytest.raises(OSError, match="No space left"):
            file.append(line)
    assert file.is_stuck
    assert file.lost == WAITING_MAX // len(line)
    file.close()


@pytest.fixture
def nearly_full(tmp_path: Path) -> Iterator[Path]:
    """A folder with a log that the system lets grow by no more than 400 bytes; with `make_room`, by more."""
    path, lines = tmp_path / "audit.jsonl", 20_000
    path.write_text('{"time": "", "what": "before", "outcome": "ok"}\n' * lines)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 400, before[1]))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def make_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)


async def asked_in_vain(bus: siftcast.Bus) -> str:
    """Subscribes until that is refused."""
    while True:
        try:
            await bus.subscribe("n < 3").ready()
        except LiveError as error:
            return str(error)


def test_on_a_full_disk_what_cannot_be_written_down_is_refused_and_events_go_on(nearly_full: Path) -> None:
    log = io.StringIO()

    @on_loop
    async def story() -> None:
        async with (
            running(BOTH + AUDIT, nearly_full, said=log) as node,
            siftcast.connect(url_of(node), token=DESK) as desk,
            desk.subscribe("n < 5") as stream,
        ):
            reason = await asked_in_vain(desk)
            assert "cannot write down what is done (File too large)" in reason
            late = siftcast.connect(url_of(node), token=DESK, timeout_s=0.2)
            with pytest.raises(ConnectionLost, match="cannot write down"):
                await late.__aenter__()
            for n in range(3):
                await desk.publish({"n": n})
                assert (await anext(stream))["n"] == n
            make_room()
            await desk.subscribe("n < 4").ready()
            async with siftcast.connect(url_of(node), token=DESK):
                pass

    story()
    assert log.getvalue().count('"audit log stuck"') == 1
    assert '"audit log goes on"' in log.getvalue()
    rows = rows_of(nearly_full)
    assert rows[-1]["what"] == "publishes"
    assert rows[-1]["published"] == 3
    assert said(rows_of(nearly_full, filter="n < 5")) == [("subscribe", "ok")]


def test_on_a_full_disk_a_node_that_is_told_to_goes_on(nearly_full: Path) -> None:
    log = io.StringIO()

    @on_loop
    async def story() -> None:
        async with (
            running(f'{BOTH}{AUDIT}when_full = "go-on"\n', nearly_full, said=log) as node,
            siftcast.connect(url_of(node), token=DESK) as desk,
        ):
            for n in range(20):
                await desk.subscribe(f"n < {n - 10}").ready()
            assert '"audit log stuck"' in log.getvalue()
            make_room()
            await desk.subscribe("n < 1").ready()

    story()
    assert len(rows_of(nearly_full, what="subscribe")) == 21, "what waited was written when there was room"


@on_loop
async def test_lines_that_were_lost_are_counted_in_one(tmp_path: Path) -> None:
    log = io.StringIO()
    full = AuditFile(Path("/dev/full"), 4_096, 2)
    audit = Audit(spec(when_full="go-on"), full, "node", make_log("json", stream=log))
    who = Who("desk", "x" * 4_000, "here")
    for _ in range(2 * WAITING_MAX // 4_000):
        audit.check()
        audit.note(who, "subscribe")
    assert full.lost > 100
    lost = full.lost
    path = tmp_path / "audit.jsonl"
    audit.adopt(spec(when_full="go-on"), AuditFile(path, 2**30, 2))
    audit.look(0.0)
    await audit.close()
    rows = rows_of(tmp_path)
    assert [row["count"] for row in rows if row["what"] == "lines lost"] == [lost]
    assert len(rows) > 200


def test_a_pipe_without_a_reader_is_refused_at_the_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "audit.jsonl")
    file = configured(AUDIT, tmp_path)
    from siftcast.runtimes.live.node.audit import open_audit_file

    with pytest.raises(LiveError, match="that this node may write"):
        open_audit_file(file)


def test_the_smallest_and_largest_values_are_checked() -> None:
    for wrong in ("bytes_max = 1", "files_max = 1", 'when_full = "perhaps"'):
        with pytest.raises(LiveError, match=wrong.partition(" ")[0]):
            parse_configuration(f"{AUDIT}{wrong}\n")


def test_a_node_that_is_killed_has_written_all_that_was_answered(tmp_path: Path) -> None:
    node = Served(tmp_path, BOTH + AUDIT)

    async def ask() -> int:
        async with siftcast.connect(node.url, token=DESK) as desk:
            for number in range(50):
                await desk.subscribe(f"n < {number - 100}").ready()
            node.process.send_signal(signal.SIGKILL)
            node.process.wait()
        return 50

    answered = asyncio.run(ask())
    finish(node.process)
    assert len(rows_of(tmp_path, what="subscribe")) == answered


@on_loop
async def written(folder: Path) -> None:
    audit = Audit(spec(), AuditFile(folder / "audit.jsonl", 4_096, 3), "a", make_log())
    for number in range(50):
        who = Who("desk" if number % 2 else "other", f"client\x1b[31m{number}", "10.0.0.7:1")
        audit.note(who, "subscribe", "ok" if number % 10 else "forbidden", filter=f"n = {number}")
    await audit.close()


def test_the_command_shows_what_one_asks_for_from_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    path = tmp_path / "audit.jsonl"
    assert main(["audit", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 50
    assert "n = 0" in lines[0]
    assert "\x1b" not in "".join(lines), "names are the clients' own, and the terminal is the reader's"
    assert main(["audit", str(path), "--principal", "other", "--refused", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["filter"] for row in rows] == [f"n = {number}" for number in range(0, 50, 10)]
    for asked, count in ((["--since", "2000-01-01"], 50), (["--until", "2000-01-01"], 0), (["--what", "login"], 0)):
        assert main(["audit", str(path), *asked]) == 0
        assert len(capsys.readouterr().out.splitlines()) == count
    with path.open("a") as file:
        file.write("half a li")
    assert main(["audit", str(path), "--what", "nothing"]) == 1
    assert main(["audit", str(tmp_path / "none.jsonl")]) == 2
