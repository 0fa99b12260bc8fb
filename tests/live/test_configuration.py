"""Configuration files: the example is the default, and every mistake is told with file, line and remedy."""

from pathlib import Path

import pytest

from siftcast.interfaces.cli.serve_example import EXAMPLE
from siftcast.matching import Matcher
from siftcast.runtimes.live.errors import ConfigurationError
from siftcast.runtimes.live.node.configuration import Configuration, load_configuration, parse_configuration
from siftcast.runtimes.live.node.layout import lay_out

THREE = """
[[overlay.nodes]]
name = "a"
address = "127.0.0.1:1"
[[overlay.nodes]]
name = "b"
address = "127.0.0.1:2"
[[overlay.nodes]]
name = "c"
address = "127.0.0.1:3"
"""
MISTAKES = {
    "not TOML": ("[node\n", 1, "TOML"),
    "unknown key": ('[node]\nlissten = "x"\n', 2, "did you mean 'listen'"),
    "unknown table": ("[nodes]\n", 1, "did you mean 'node'"),
    "wrong type": ("[limits]\nevent_bytes_max = 'many'\n", 2, "docs/configuration.md"),
    "too small": ("\n\n[heartbeat]\ninterval_ms = 0\n", 4, "docs/configuration.md"),
    "no such policy": ('[slow_consumers]\npolicy = "ignore"\n', 2, "docs/configuration.md"),
    "bad name": ('[node]\nname = "a b"\n', 2, "letters, digits"),
    "no address": ('[node]\nlisten = "7007"\n', 2, "host:port"),
    "an address of clients": ('[join]\nseeds = ["siftcasts://a:7007/"]\n', 2, "write a:7007 ([tls] in a configuration"),
    "open to all": ('[node]\nlisten = "0.0.0.0:7007"\n', 2, "allow_remote = true"),
    "frame too small": ("[limits]\nframe_bytes_max = 100\n", 2, "event_bytes_max"),
    "spill nowhere": ('[slow_consumers]\npolicy = "spill"\n', 2, "data"),
    "no folder": ('[node]\nlisten = "127.0.0.1:0"\ndata = ""\n', 3, "leave the key out"),
    "no recording": ('[recording]\nfolder = " "\n', 2, "leave the key out"),
    "for ever": ("[heartbeat]\n\ninterval_ms = inf\n", 3, "finite"),
    "no number": ("heartbeat = {interval_ms = -nan}\n", 1, "finite"),
    "too large a number": ("heartbeat.interval_ms = 1e999\n", 1, "finite"),
    "an option without end": ("[overlay]\n[overlay.options]\n\nclique_ms_max = inf\n", 4, "finite"),
    "endless digits": (f"[limits]\nconnections_max = {'9' * 5_000}\n", 2, "digits"),
    "missing key": ('[overlay]\nscheme = "kyra"\n[[overlay.nodes]]\nname = "a"\n', 3, "add 'address'"),
    "not a member": ('[node]\nname = "z"\n' + THREE, 2, "add it"),
    "a name twice": ('[node]\nname = "a"\n' + THREE.replace('"c"', '"a"'), 11, "its own name"),
    "a bad member": ('[node]\nname = "a"\n' + THREE.replace("127.0.0.1:3", "nowhere"), 12, "host:port"),
    "links of nobody": ('[overlay]\nlinks = [["a", "b"]]\n', 2, "list the nodes that they link in [[overlay.nodes]]"),
    "a bad link": ('[node]\nname = "a"\n[overlay]\nlinks = [["a", "z"]]\n' + THREE, 4, "nodes are: a, b, c"),
    "a link twice": (
        '[node]\nname = "a"\n[overlay]\nlinks = [["a", "b"], ["b", "a"]]\n' + THREE,
        4,
        "name each link once",
    ),
    "a link to itself": ('[node]\nname = "a"\n[overlay]\nlinks = [["b", "b"]]\n' + THREE, 4, "'b' is linked to itself"),
}
LAYOUT_MISTAKES = {
    "no such scheme": ('[overlay]\nscheme = "kira"\n', 2, "did you mean 'kyra'"),
    "simulated only": ('[overlay]\nscheme = "ideal-multicast"\n', 2, "filter-based"),
    "planned only": ('[overlay]\nscheme = "clustered"\n', 2, "broadcast, core-tree, filter-based, gossip, homed, kyra"),
    "bad option": ("[overlay.options]\nsummery = 1\n", 2, "options: summary"),
    "bad value": ('[overlay.options]\nsummary = "short"\n', 1, "covering"),
    "kyra without schema": ('[overlay]\nscheme = "kyra"\n', 2, "name a file as schema"),
    "missing schema": ('[overlay]\nscheme = "kyra"\nschema = "none.toml"\n', 3, "docs/filter-language.md"),
    "a loop": ('[node]\nname = "a"\n[overlay]\nlinks = [["a", "b"], ["b", "c"], ["c", "a"]]\n' + THREE, 4, "2 links"),
}


@pytest.mark.parametrize(("text", "line", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_file_line_and_remedy(text: str, line: int, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, "node.toml")
    assert caught.value.line == line, str(caught.value)
    assert str(caught.value).startswith(f"node.toml, line {line}: ")
    assert remedy in str(caught.value)


@pytest.mark.parametrize(("text", "line", "remedy"), LAYOUT_MISTAKES.values(), ids=LAYOUT_MISTAKES)
def test_a_mistake_in_the_overlay_is_told_likewise(text: str, line: int, remedy: str) -> None:
    file = parse_configuration(text, "node.toml")
    with pytest.raises(ConfigurationError) as caught:
        lay_out(file, Matcher)
    assert caught.value.line == line, str(caught.value)
    assert remedy in str(caught.value)


def test_a_missing_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="siftcast serve --example"):
        load_configuration(tmp_path / "missing.toml")


def test_the_example_is_what_one_gets_without_a_file() -> None:
    assert parse_configuration(EXAMPLE).configuration == Configuration()


def test_the_page_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for table, kind in Configuration.__annotations__.items():
        assert f"[{table}]" in page
        assert kind
    for line in EXAMPLE.splitlines():
        key = line.lstrip("# ").split(" = ")[0]
        if " = " in line and key.isidentifier():
            assert f"`{key}`" in page, key


def test_nodes_of_one_network_lay_out_the_same() -> None:
    files = [parse_configuration(f'[node]\nname = "{name}"\n' + THREE) for name in "abc"]
    overlays = [lay_out(file, Matcher) for file in files]
    assert len({overlay.digest for overlay in overlays}) == 1
    by_node = {overlay.node: overlay for overlay in overlays}
    assert len(by_node) == 3
    assert [overlay.names[overlay.node] for overlay in overlays] == ["a", "b", "c"]
    for overlay in overlays:
        for other in overlay.contacts:
            assert overlay.node in by_node[other].contacts


def test_links_decide_whom_a_node_talks_to() -> None:
    links = '[overlay]\nlinks = [["a", "b"], ["b", "c"]]\n'
    overlays = [lay_out(parse_configuration(f'[node]\nname = "{name}"\n{links}{THREE}'), Matcher) for name in "abc"]
    found = [{overlay.names[other] for other in overlay.contacts} for overlay in overlays]
    assert found == [{"b"}, {"a", "c"}, {"b"}]
