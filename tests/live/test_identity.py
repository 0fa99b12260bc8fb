"""Who a node is: a number that it has for good, kept in its data folder, whatever it is called and where it listens."""

import stat
from pathlib import Path

import msgspec
import pytest

import siftcast
from siftcast.overlays.durability import RestoreError
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.errors import ConfigurationError
from siftcast.runtimes.live.node.configuration import MemberSpec, parse_configuration
from siftcast.runtimes.live.node.identity import BITS, FILE, identity_of, keep_identity, listed_identity
from siftcast.runtimes.live.node.layout import lay_out
from siftcast.runtimes.live.node.node import Node
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of

ALONE = '[node]\nname = "a"\ndata = "data"\n'
LISTED = ALONE + '[[overlay.nodes]]\nname = "a"\naddress = "127.0.0.1:1"\n'


def configured(text: str, folder: Path):
    return parse_configuration(text, str(folder / "node.toml"))


def started(text: str, folder: Path) -> int:
    """The identity of a node that has started."""
    file = configured(text, folder)
    identity = identity_of(file)
    keep_identity(file, identity)
    return identity


def test_a_node_by_itself_draws_its_identity_once_and_keeps_it_for_itself(tmp_path):
    drawn = started(ALONE, tmp_path)
    assert 0 <= drawn < 2**BITS
    assert identity_of(configured(ALONE, tmp_path)) == drawn
    assert identity_of(configured(ALONE.replace('"a"', '"renamed"'), tmp_path)) == drawn
    path = tmp_path / "data" / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert msgspec.json.decode(path.read_bytes()) == {
        "format": 1, "network": "siftcast", "name": "a", "identity": drawn
    }  # fmt: skip
    assert identity_of(configured(ALONE.replace('"data"', '"other"'), tmp_path)) != drawn


def test_a_node_without_a_folder_is_somebody_else_each_time():
    file = parse_configuration("[node]\n")
    assert identity_of(file) != identity_of(file)


def test_nodes_of_a_list_know_each_other_before_they_have_met(tmp_path):
    own = started(LISTED, tmp_path)
    assert own == listed_identity("siftcast", MemberSpec(name="a", address="elsewhere:5"))
    assert own != listed_identity("another", MemberSpec(name="a", address="127.0.0.1:1"))
    assert own != listed_identity("siftcast", MemberSpec(name="b", address="127.0.0.1:1"))
    assert identity_of(configured(LISTED, tmp_path)) == own


def test_a_node_that_was_by_itself_or_is_renamed_brings_its_identity_along(tmp_path):
    drawn = started(ALONE, tmp_path)
    with pytest.raises(ConfigurationError, match=rf"node\.toml, line 3: .*write id = {drawn} for 'a'"):
        identity_of(configured(LISTED, tmp_path))
    renamed = LISTED.replace('"a"', '"b"') + f"id = {drawn}\n"
    assert identity_of(configured(renamed, tmp_path)) == drawn


def test_a_folder_of_another_network_or_without_sense_is_refused_and_left(tmp_path):
    started(ALONE, tmp_path)
    with pytest.raises(ConfigurationError, match="belongs to a node of network 'siftcast'"):
        identity_of(configured(ALONE + '[overlay]\nnetwork = "other"\n', tmp_path))
    path = tmp_path / "data" / FILE
    before = path.read_bytes()
    for damaged, told in ((before[:-9], "does not say who"), (b"", "does not say who"),
                          (before.replace(b'"identity":', b'"identity":-'), "does not say who"),
                          (before.replace(b'"format":1', b'"format":2'), "has format 2")):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match=told):
            identity_of(configured(ALONE, tmp_path))
        assert path.read_bytes() == damaged


def test_two_nodes_of_a_list_with_one_identity_are_refused(tmp_path):
    twin = listed_identity("siftcast", MemberSpec(name="a", address=""))
    text = LISTED + f'[[overlay.nodes]]\nname = "b"\naddress = "127.0.0.1:2"\nid = {twin}\n'
    with pytest.raises(ConfigurationError, match="'a' and 'b' have the same identity"):
        lay_out(configured(text, tmp_path), matcher_tables("brute_force"))


@on_loop
async def test_a_node_says_who_it_is(tmp_path):
    async with running('data = "data"', tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        facts = await bus.describe()
        assert facts["identity"] == msgspec.json.decode((tmp_path / "data" / FILE).read_bytes())["identity"]
        assert facts["network"] == "siftcast"


@on_loop
async def test_a_folder_that_is_refused_is_left_as_it_is_and_the_remedy_works(tmp_path):
    async with running('name = "a"\ndata = "data"', tmp_path) as node:
        identity = node.life.overlay.node
    (tmp_path / "data" / FILE).unlink()
    node = Node(configured('[node]\nname = "a"\nlisten = "127.0.0.1:0"\ndata = "data"\n', tmp_path))
    with pytest.raises(RestoreError, match=f"with the identity {identity}, .* as id, in .node."):
        await node.start()
    await node.stop()
    assert not (tmp_path / "data" / FILE).exists()
    async with running(f'name = "a"\nid = {identity}\ndata = "data"', tmp_path):
        pass
    async with running('name = "a"\ndata = "data"', tmp_path) as node:
        assert node.life.overlay.node == identity


@on_loop
async def test_a_renamed_node_has_its_durable_subscriptions(tmp_path):
    async with running('name = "a"\ndata = "data"', tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        await bus.subscribe("x >= 0", "desk").ready()
        await bus.publish({"x": 1}, durable=True)
    async with running('name = "b"\ndata = "data"', tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        async with bus.subscribe("x >= 0", "desk") as stream:
            assert (await anext(stream))["x"] == 1
        assert [row["durable"] for row in node.describe()["subscriptions"]] == ["desk"]


def test_a_node_that_is_renamed_in_its_place_is_in_the_same_layout(tmp_path):
    def digest(name: str, more: str = "") -> str:
        links = f'[overlay]\nlinks = [["a", "{name}"], ["{name}", "c"]]\n'
        listed = "".join(f'[[overlay.nodes]]\nname = "{each}"\naddress = "h:1"\n{more if each == name else ""}'
                         for each in ("a", name, "c"))  # fmt: skip
        file = parse_configuration(f'[node]\nname = "a"\n{links}{listed}')
        return lay_out(file, matcher_tables("brute_force")).digest

    same = f"id = {listed_identity('siftcast', MemberSpec(name='b', address=''))}\n"
    assert digest("b") == digest("b", same) == digest("bb", same) != digest("bb")


def test_a_fresh_folder_says_who_its_node_is_before_anything_else_is_there(tmp_path):
    file = configured(ALONE, tmp_path)
    drawn = identity_of(file)
    assert [path.name for path in (tmp_path / "data").iterdir()] == [FILE]
    keep_identity(file, drawn + 1)  # as of another process that began at the same moment
    assert identity_of(file) == drawn
    assert [path.name for path in (tmp_path / "data").iterdir()] == [FILE]
