"""Key rings on disk: who may read them, what is refused, what is handed out, and files that change."""

import copy
import json
import logging
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from siftcast.security import KeyRing, KeyRingError, Opener, Sealer, load_keys
from siftcast.security.hazmat.secret import Secret
from siftcast.security.keeping import add_publisher, begin_group, issue, make_publisher, revoke, rotate
from siftcast.security.ring_files import group_path, read_group, stamp_of
from tests.unit.security.made_rings import CLEAR, NOW_S, PAYLOAD, Desk, reason_of, ring_folders


def seal(folder: Path) -> bytes:
    return Sealer(KeyRing.load(folder)).seal("desk", [(CLEAR, PAYLOAD)], NOW_S)[0]


def secrets_of(folder: Path) -> list[bytes]:
    """All that must not be shown, in the forms in which it could be."""
    found = []
    for path in folder.glob("*"):
        entries = json.loads(path.read_bytes())
        texts = [entries["seed"]] if "seed" in entries else [each["secret"] for each in entries["epochs"]]
        raw = [msgspec.json.decode(f'"{text}"'.encode(), type=bytes) for text in texts]
        found += [
            form for text, each in zip(texts, raw, strict=True) for form in (text.encode(), each, each.hex().encode())
        ]
    return found


def test_a_ring_seals_where_the_signing_key_is_and_opens_everywhere(tmp_path: Path) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    assert Opener(KeyRing.load(member)).open(CLEAR, seal(feed), NOW_S, kept=False).payload == PAYLOAD
    assert KeyRing.load(feed).name == "feed"
    assert KeyRing.load(keeper).name is None
    assert not (member / "signing.key").exists()


def test_files_are_for_their_owner_only_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folders = ring_folders(tmp_path)
    finally:
        os.umask(before)
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    assert {path.stat().st_mode & 0o777 for folder in folders for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", [".", "desk.group", "signing.key"])
@pytest.mark.parametrize("bits", [0o040, 0o004, 0o020])
def test_what_others_may_read_or_change_is_refused(tmp_path: Path, name: str, bits: int) -> None:
    _, feed, _ = ring_folders(tmp_path)
    path = feed / name
    path.chmod(path.stat().st_mode | bits)
    with pytest.raises(KeyRingError, match=r"other accounts; chmod [67]00"):
        KeyRing.load(feed)


@pytest.mark.parametrize("name", ["desk.group", "signing.key"])
def test_half_a_file_is_refused_wherever_it_ends(tmp_path: Path, name: str) -> None:
    _, feed, _ = ring_folders(tmp_path)
    whole = (feed / name).read_bytes()
    for stop in range(0, len(whole) - 2, 7):
        (feed / name).write_bytes(whole[:stop])
        with pytest.raises(KeyRingError, match="cut short"):
            KeyRing.load(feed)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"format": 1', '"format": 2', "has format 2"),
        ('"group": "desk"', '"group": "board"', "named after its group"),
        ('"group": "desk"', '"group": "../x"', "is no name"),
        ('"epoch": 1', '"epoch": 0', "count from 1"),
        ('"copy": true', '"copy": true, "more": 1', "cut short"),
        ('"secret": "', '"secret": "!', "base64"),
        ('"secret": "', '"secret": "AAAA', "32 bytes"),
        ('"key": "', '"key": "AAAA', "32 bytes"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    _, _, member = ring_folders(tmp_path)
    text = (member / "desk.group").read_text()
    assert old in text
    (member / "desk.group").write_text(text.replace(old, new))
    with pytest.raises(KeyRingError, match=words):
        KeyRing.load(member)


def test_a_folder_that_is_not_there_or_empty_is_no_ring(tmp_path: Path) -> None:
    with pytest.raises(KeyRingError, match="siftcast keys init"):
        KeyRing.load(tmp_path / "missing")
    (tmp_path / "empty").mkdir(mode=0o700)
    with pytest.raises(KeyRingError, match="is empty"):
        load_keys(tmp_path / "empty")


def test_keys_do_not_print_pickle_copy_or_encode(tmp_path: Path) -> None:
    _, feed, _ = ring_folders(tmp_path)
    ring = KeyRing.load(feed)
    hidden = secrets_of(feed)
    epoch, group = ring.sealing_epoch("desk"), ring.groups["desk"]
    for each in (
        ring,
        ring.signing,
        epoch,
        epoch.key,
        epoch.key.batch_key(bytes(16)),
        group,
        read_group(feed / "desk.group"),
    ):
        shown = f"{each!r} {each} {vars(each) if hasattr(each, '__dict__') else ''}".encode()
        assert not [secret for secret in hidden if secret in shown]
        for escape in (pickle.dumps, copy.deepcopy, msgspec.json.encode, msgspec.msgpack.encode):
            with pytest.raises((KeyRingError, TypeError)):
                escape(each)
    assert "hidden" in repr(Secret(bytes(32)))


def test_a_copy_cannot_be_changed_and_does_not_overwrite_what_is_newer(tmp_path: Path) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    with pytest.raises(KeyRingError, match="this is a copy"):
        rotate(member, "desk", NOW_S)
    rotate(keeper, "desk", NOW_S)
    issue(keeper, "desk", member)
    with pytest.raises(KeyRingError, match="newer copy"):
        issue(feed, "desk", member)
    with pytest.raises(KeyRingError, match="copies are made of"):
        issue(feed, "desk", keeper)
    assert read_group(member / "desk.group").newest.number == 2
    (member / "desk.group").write_bytes(b"")
    with pytest.raises(KeyRingError, match="remove it first"):
        issue(keeper, "desk", member)


def test_nothing_is_made_twice(tmp_path: Path) -> None:
    keeper, feed, _ = ring_folders(tmp_path)
    with pytest.raises(KeyRingError, match="there already"):
        begin_group(keeper, "desk", NOW_S)
    with pytest.raises(KeyRingError, match="there already"):
        make_publisher(feed, "other")
    word = make_publisher(tmp_path / "second", "second")
    add_publisher(keeper, "desk", word)
    with pytest.raises(KeyRingError, match="already"):
        add_publisher(keeper, "desk", word)
    with pytest.raises(KeyRingError, match="with this key already"):
        add_publisher(keeper, "desk", word.replace("second:", "third:"))


@pytest.mark.parametrize("word", ["feed", "feed:", "feed:AAAA", "feed:not base64", ":AAAA", "a b:" + "A" * 43 + "="])
def test_what_is_no_publisher_is_not_added(tmp_path: Path, word: str) -> None:
    begin_group(tmp_path / "keeper", "desk", NOW_S)
    with pytest.raises(KeyRingError):
        add_publisher(tmp_path / "keeper", "desk", word)


def test_a_rotation_reaches_a_ring_that_is_open(tmp_path: Path) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    opener = Opener(KeyRing.load(member))
    assert opener.open(CLEAR, seal(feed), NOW_S, kept=False).epoch == 1
    rotate(keeper, "desk", NOW_S)
    for folder in (member, feed):
        issue(keeper, "desk", folder)
    assert opener.open(CLEAR, seal(feed), NOW_S + 2, kept=False).epoch == 2


def test_a_publisher_that_is_open_seals_with_the_new_epoch(tmp_path: Path) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    sealer = Sealer(KeyRing.load(feed))
    sealer.seal("desk", [(CLEAR, PAYLOAD)], NOW_S)
    rotate(keeper, "desk", NOW_S)
    issue(keeper, "desk", feed)
    issue(keeper, "desk", member)
    (sealed,) = sealer.seal("desk", [(CLEAR, PAYLOAD)], NOW_S + 5)
    assert Opener(KeyRing.load(member)).open(CLEAR, sealed, NOW_S, kept=False).epoch == 2


def test_a_publisher_that_is_added_is_known_to_a_ring_that_is_open(tmp_path: Path) -> None:
    keeper, _, member = ring_folders(tmp_path)
    opener = Opener(KeyRing.load(member))
    add_publisher(keeper, "desk", make_publisher(tmp_path / "second", "second"))
    issue(keeper, "desk", tmp_path / "second")
    sealed = seal(tmp_path / "second")
    assert reason_of(lambda: opener.open(CLEAR, sealed, NOW_S, kept=False)) == "unknown-publisher"
    issue(keeper, "desk", member)
    assert opener.open(CLEAR, sealed, NOW_S + 2, kept=False).publisher == "second"


def test_revoking_begins_an_epoch_and_reaches_a_ring_that_is_open(tmp_path: Path) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    opener, old = Opener(KeyRing.load(member)), seal(feed)
    stolen = tmp_path / "stolen"
    stolen.mkdir(mode=0o700)
    for path in feed.iterdir():
        (stolen / path.name).write_bytes(path.read_bytes())
        (stolen / path.name).chmod(0o600)
    group = revoke(keeper, "desk", "feed", NOW_S)
    assert (group.newest.number, group.publishers["feed"].revoked_from) == (2, 2)
    issue(keeper, "desk", member)
    assert opener.open(CLEAR, old, NOW_S + 10, kept=False).epoch == 1
    revoke(keeper, "desk", "feed", NOW_S, from_epoch=1)
    issue(keeper, "desk", member)
    assert reason_of(lambda: opener.open(CLEAR, seal(stolen), NOW_S + 20, kept=True)) == "revoked"
    with pytest.raises(KeyRingError, match="revoked from epoch 1 on already"):
        revoke(keeper, "desk", "feed", NOW_S)


def test_files_that_cannot_be_used_change_nothing_and_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keeper, feed, member = ring_folders(tmp_path)
    ring = KeyRing.load(member)
    path = group_path(member, "desk")
    old = path.read_bytes()
    rotate(keeper, "desk", NOW_S)
    issue(keeper, "desk", member)
    assert ring.look(NOW_S)
    for bad in (old, b"{", None):  # an older state, half a file, and none
        path.unlink() if bad is None else path.write_bytes(bad)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "siftcast"):
            for later in (10, 20, 30):
                assert not ring.look(NOW_S + later + len(bad or b""))
        assert caplog.text.count("the key ring stays as it was") == 1
        assert ring.groups["desk"].newest.number == 2
    assert Opener(ring).open(CLEAR, seal(feed), NOW_S + 40, kept=False).payload == PAYLOAD


def test_an_old_file_in_the_place_of_one_that_was_gone_is_not_taken(tmp_path: Path) -> None:
    keeper, _, member = ring_folders(tmp_path)
    path = group_path(member, "desk")
    old = path.read_bytes()
    revoke(keeper, "desk", "feed", NOW_S, from_epoch=1)
    issue(keeper, "desk", member)
    ring = KeyRing.load(member)
    path.unlink()
    assert not ring.look(NOW_S)
    path.touch(0o600)
    path.write_bytes(old)
    assert not ring.look(NOW_S + 10)
    assert not ring.groups["desk"].publishers["feed"].may_seal(1)


def test_changes_at_the_same_time_are_made_one_after_the_other(tmp_path: Path) -> None:
    keeper, _, _ = ring_folders(tmp_path)
    words = [make_publisher(tmp_path / name, name) for name in ("one", "two", "three", "four")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda word: add_publisher(keeper, "desk", word), words))
    group = read_group(keeper / "desk.group")
    assert set(group.publishers) == {"feed", "one", "two", "three", "four"}
    assert group.number == 2 + len(words)


def test_nobody_is_revoked_from_an_epoch_that_is_not_there_yet(tmp_path: Path) -> None:
    keeper, _, _ = ring_folders(tmp_path)
    with pytest.raises(KeyRingError, match="is at 2; nobody is revoked from epoch 3 on"):
        revoke(keeper, "desk", "feed", NOW_S, from_epoch=3)
    assert read_group(keeper / "desk.group").newest.number == 1


def test_others_cannot_have_the_files_looked_at_more_than_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, member = ring_folders(tmp_path)
    opener = Opener(KeyRing.load(member))
    looks = []
    monkeypatch.setattr("siftcast.security.ring.stamp_of", lambda folder: looks.append(folder) or stamp_of(folder))
    strange = Desk().seal().replace(b"desk", b"dusk")
    for number in range(100):
        assert reason_of(lambda number=number: opener.open(CLEAR, strange, NOW_S + number / 50, kept=False)) == "no-key"
    assert len(looks) == 2
