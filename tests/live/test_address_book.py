"""Whom a node knows: what counts more than what, and what a folder brings back."""

import io
from pathlib import Path

import pytest

from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node import address_book
from siftcast.runtimes.live.node.address_book import FILE, AddressBook, is_sound
from siftcast.runtimes.live.wire.node_frames import Introduction


def book_in(
    folder: Path | None, said: io.StringIO | None = None, *, network: str = "net", at_ms: float = 5
) -> AddressBook:
    return AddressBook(folder, network, make_log("json", stream=said or io.StringIO()), clock_ms=at_ms)


def test_the_list_counts_more_than_a_node_and_a_node_more_than_others() -> None:
    book = book_in(None)
    book.take_list({1: "one"}, {1: "10.0.0.1:7007"})
    book.learn(Introduction(1, "other", "10.9.9.9:7007", 99), is_its_own=True)
    assert (book.name(1), book.address(1)) == ("one", "10.0.0.1:7007")
    book.learn(Introduction(2, "two", "10.0.0.2:1", 10))
    book.learn(Introduction(2, "old", "10.0.0.2:2", 9))
    assert book.address(2) == "10.0.0.2:1", "an older start"
    book.learn(Introduction(2, "two", "10.0.0.2:3", 11))
    assert book.address(2) == "10.0.0.2:3"
    book.learn(Introduction(2, "two", "10.0.0.2:4", 1), is_its_own=True)
    assert book.address(2) == "10.0.0.2:4", "its clock was put back"
    assert book.introduce((1, 2, 3)) == (
        Introduction(1, "one", "10.0.0.1:7007"),
        Introduction(2, "two", "10.0.0.2:4", 1),
    )
    assert (book.named("two"), book.named("1"), book.named("nobody")) == ((2,), (1,), ())
    assert (book.name(3), book.names[3], book.address(3)) == ("3", "3", "")


def test_a_folder_brings_back_whom_the_node_knew(tmp_path: Path) -> None:
    book = book_in(tmp_path / "data")
    book.learn(Introduction(2, "two", "10.0.0.2:1", 10))
    book.learn(Introduction(3, "three", "10.0.0.3:1", 10))
    book.forget(3)
    book.save()
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == [FILE]
    again = book_in(tmp_path / "data", at_ms=1)
    assert again.met == (2,)
    assert again.since == book.since + 1, "although the clock was put back"
    assert not again.has_left
    again.leave()
    again.save()
    assert book_in(tmp_path / "data").has_left


@pytest.mark.parametrize("text", [b"", b"{", b'{"format":9,"network":"net","since":1,"entries":[]}'])
def test_a_damaged_file_is_reported_and_survived(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_bytes(text)
    said = io.StringIO()
    book = book_in(tmp_path, said)
    assert "addresses of nodes not read" in said.getvalue()
    book.learn(Introduction(2, "two", "10.0.0.2:1"))
    book.save()
    assert book_in(tmp_path).met == (2,)


def test_addresses_of_another_network_are_not_used(tmp_path: Path) -> None:
    book = book_in(tmp_path)
    book.learn(Introduction(2, "two", "10.0.0.2:1"))
    book.save()
    assert book_in(tmp_path, network="other").met == ()


def test_a_disk_that_refuses_is_reported_and_survived(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in its place")
    said = io.StringIO()
    book = book_in(tmp_path / "data", said)
    book.learn(Introduction(2, "two", "10.0.0.2:1"))
    book.save()
    assert "addresses of nodes not kept" in said.getvalue()
    assert book.met == (2,)


def test_what_cannot_be_a_node_is_not_learned_and_only_so_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    book = book_in(None)
    for entry in (
        Introduction(-1, "a", "10.0.0.1:1"),
        Introduction(2**63, "a", "10.0.0.1:1"),
        Introduction(1, "a b", "10.0.0.1:1"),
        Introduction(1, "", "10.0.0.1:1"),
        Introduction(1, "a", "10.0.0.1"),
        Introduction(1, "a", "10.0.0.1:0"),
        Introduction(1, "a", "x" * 400 + ":1"),
    ):
        assert not is_sound(entry)
        book.learn(entry, is_its_own=True)
    assert book.met == ()
    monkeypatch.setattr(address_book, "ENTRIES_MAX", 3)
    for number in range(5):
        book.learn(Introduction(number, "a", "10.0.0.1:1"))
    assert book.met == (4, 3, 2)
