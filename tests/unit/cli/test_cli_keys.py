"""`siftcast keys`, and what `publish` and `subscribe` say about keys before they connect."""

from pathlib import Path

import pytest

from siftcast.interfaces.cli import main
from siftcast.security import KeyRing


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(each) for each in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, Path, Path]:
    keeper, feed, member = tmp_path / "keeper", tmp_path / "feed", tmp_path / "member"
    assert run(capsys, "keys", "init", "desk", "--keys", keeper)[0] == 0
    word = run(capsys, "keys", "publisher", "feed", "--keys", feed)[1].strip()
    assert run(capsys, "keys", "add-publisher", "desk", word, "--keys", keeper)[0] == 0
    for folder in (feed, member):
        assert run(capsys, "keys", "issue", "desk", folder, "--keys", keeper)[0] == 0
    return keeper, feed, member


def test_keys_are_made_handed_out_rotated_and_revoked(made, capsys) -> None:
    keeper, feed, member = made
    assert "epoch 2" in run(capsys, "keys", "rotate", "desk", "--keys", keeper, "--grace-s", "60")[1]
    assert "epoch 3" in run(capsys, "keys", "revoke", "desk", "feed", "--keys", keeper)[1]
    assert run(capsys, "keys", "rotate", "desk", "--keys", keeper, "--keep", "2")[0] == 0
    assert run(capsys, "keys", "issue", "desk", member, "--keys", keeper)[0] == 0
    group = KeyRing.load(member).groups["desk"]
    assert sorted(group.epochs) == [3, 4]
    assert group.publishers["feed"].revoked_from == 3
    shown = run(capsys, "keys", "show", "--keys", member)[1]
    assert "a copy" in shown
    assert "revoked from epoch 3 on" in shown
    assert "signs as feed:" in run(capsys, "keys", "show", "--keys", feed)[1]
    (empty := member / "empty").mkdir(0o700)
    assert "an empty key ring" in run(capsys, "keys", "show", "--keys", empty)[1]


def test_what_is_shown_holds_no_secret(made, capsys) -> None:
    keeper, feed, _ = made
    for folder in (keeper, feed):
        text = run(capsys, "keys", "show", "--keys", folder)[1]
        lines = [line for path in folder.iterdir() for line in path.read_text().splitlines()]
        hidden = [line.split('"')[3] for line in lines if '"secret"' in line or '"seed"' in line]
        assert hidden
        assert not [each for each in hidden if each in text]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keys", "init", "desk", "--keys", "keeper"), "there already"),
        (("keys", "init", "a b", "--keys", "keeper"), "is no name"),
        (("keys", "rotate", "desk", "--keys", "member"), "this is a copy"),
        (("keys", "rotate", "dusk", "--keys", "keeper"), "is not there"),
        (("keys", "rotate", "desk", "--keys", "keeper", "--keep", "0"), "at least one epoch"),
        (("keys", "revoke", "desk", "nobody", "--keys", "keeper"), "there are feed"),
        (("keys", "add-publisher", "desk", "nonsense", "--keys", "keeper"), "32 bytes"),
        (("keys", "show", "--keys", "missing"), "is no key ring"),
        (("publish", "none.jsonl", "--seal", "payload", "--group", "desk", "--keys", "member"), "no signing key"),
        (("publish", "none.jsonl", "--seal", "payload", "--keys", "feed"), "add group='desk'"),
        (("publish", "none.jsonl", "--seal", "payload", "--group", "desk"), "with keys"),
        (("publish", "none.jsonl", "--group", "desk"), "add seal='payload'"),
        (("publish", "none.jsonl", "--seal", "payload", "--group", "desk", "--keys", "feed"), "add --payload"),
        (("subscribe", "TRUE", "--keys", "missing"), "is no key ring"),
        (("subscribe", "TRUE", "--allow-plain"), "add --keys"),
    ],
)
def test_mistakes_are_told_before_anything_is_connected(made, capsys, arguments, words) -> None:
    folder = made[0].parent
    names = ("keeper", "feed", "member", "missing")
    at = [
        folder / each if each in names and before == "--keys" else each
        for before, each in zip(("", *arguments), arguments, strict=False)
    ]
    status, _, said = run(capsys, *at)
    assert status == 2
    assert words in said
