"""Readers of networks: what they read, and what they say of files that are empty, halved, wrong or not text."""

import gzip
import io
import json
import tarfile

import numpy as np
import pytest

from siftcast.model import TopologyFileError
from siftcast.underlay import (
    list_topology_zoo,
    read_brite,
    read_latency_matrix,
    read_rocketfuel,
    read_topology_zoo,
)

BRITE = """Topology: ( 3 Nodes, 2 Edges )
Model (1 - RTWaxman):  3 1000 100 1

Nodes: ( 3 )
7 0 0 1 1 4 RT_NODE
8 0 0 2 2 4 RT_BORDER
9 0 0 1 1 5 RT_NODE


Edges: ( 2 )
0 7 8 300.0 1.5 10.0 4 4 E_RT U
1 9 8 300.0 2.5 10.0 5 4 E_AS U
"""
ROCKETFUEL = "A,+X1 B,+X2 7\nB,+X2 C,+Y3 2\nB,+X2 A,+X1 7\nC,+Y3 B,+X2 2\n"
ZOO = {
    "graph": {"name": "t"},
    "nodes": [{"id": "0", "name": "Cork"}, {"id": "1", "name": "Galway"}, {"id": "2"}],
    "edges": [{"source": "0", "target": "1", "dist": 200.0}, {"source": "2", "target": "1", "dist": 0}],
}
MATRIX = "0\t2\t3\n2\t0\t5\n3\t5\t0\n"
READERS = {
    "brite": (read_brite, BRITE),
    "rocketfuel": (read_rocketfuel, ROCKETFUEL),
    "zoo": (read_topology_zoo, json.dumps(ZOO, indent=1)),
    "matrix": (read_latency_matrix, MATRIX),
}
each_reader = pytest.mark.parametrize(("read", "text"), READERS.values(), ids=READERS)


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "network.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def links(network):
    return list(zip(network.tails, network.heads, network.latencies_ms, strict=True))


def test_brite_file_is_read(write):
    network = read_brite(write(BRITE))
    assert links(network) == [(0, 1, 1.5), (2, 1, 2.5)]
    assert network.names == ("7", "8", "9")
    assert network.domains.tolist() == [4, 4, 5]
    assert network.router_kinds.tolist() == ["RT_NODE", "RT_BORDER", "RT_NODE"]
    assert network.link_kinds.tolist() == ["E_RT", "E_AS"]


def test_rocketfuel_file_is_read_with_one_link_for_both_directions(write):
    network = read_rocketfuel(write(ROCKETFUEL))
    assert links(network) == [(0, 1, 7.0), (1, 2, 2.0)]
    assert network.names == ("A,+X1", "B,+X2", "C,+Y3")


def test_rocketfuel_file_may_list_every_link_once(write):
    assert links(read_rocketfuel(write("A B 1\nB C 2\n"))) == [(0, 1, 1.0), (1, 2, 2.0)]


def test_topology_zoo_graph_is_read_with_the_speed_of_light_in_fibre(write):
    network = read_topology_zoo(write(json.dumps(ZOO)))
    assert links(network) == [(0, 1, 1.0), (2, 1, 0.0)]
    assert network.names == ("Cork", "Galway", "2")
    assert read_topology_zoo(write(json.dumps(ZOO)), km_a_ms=100.0).latencies_ms.tolist() == [2.0, 0.0]


def archive(graphs: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        for name, graph in graphs.items():
            content = json.dumps(graph).encode()
            entry = tarfile.TarInfo(f"zoo/{name}.json")
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def test_graph_is_read_from_an_archive_by_name(write):
    path = write(archive({"Tiny": ZOO, "Other": {"nodes": [{"id": 1}], "edges": []}}), "zoo.tar.gz")
    assert list_topology_zoo(path) == ["Other", "Tiny"]
    assert read_topology_zoo(path, "Tiny").routers == 3
    assert read_topology_zoo(path, "Other").routers == 1
    with pytest.raises(TopologyFileError, match="holds no graph 'Tinny'; name one, such as Tiny"):
        read_topology_zoo(path, "Tinny")
    with pytest.raises(TopologyFileError, match="holds many graphs; name one"):
        read_topology_zoo(path)


def test_plain_file_holds_no_graph_by_name(write):
    path = write(json.dumps(ZOO))
    with pytest.raises(TopologyFileError, match="is no tar archive"):
        read_topology_zoo(path, "Tiny")
    with pytest.raises(TopologyFileError, match="is no tar archive"):
        list_topology_zoo(path)


def test_damaged_archive_is_refused(write):
    unpacked = gzip.decompress(archive({"Tiny": ZOO}))
    with pytest.raises(TopologyFileError, match="the tar archive is damaged"):
        read_topology_zoo(write(unpacked[:700], "zoo.tar"), "Tiny")


def test_round_trips_are_halved_unless_told_otherwise(write):
    assert read_latency_matrix(write(MATRIX)).latencies_ms.tolist() == [[0, 1, 1.5], [1, 0, 2.5], [1.5, 2.5, 0]]
    assert read_latency_matrix(write("0 2\n4, 0\n"), round_trip=False).latencies_ms.tolist() == [[0, 2], [4, 0]]


def test_servers_with_missing_latencies_are_refused_or_dropped(write):
    path = write("NA,2,,4\n2,0,5,6\n3,5,0,-1\n4,6,nan,0\n")
    with pytest.raises(TopologyFileError, match=r"line 1: 3 values are missing, the first in column 3;.*drop"):
        read_latency_matrix(path)
    assert read_latency_matrix(path, missing="drop").latencies_ms.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    with pytest.raises(TopologyFileError, match="choose one of refuse, drop"):
        read_latency_matrix(path, missing="guess")


@each_reader
def test_gzipped_file_reads_like_the_plain_one(read, text, write):
    plain, packed = read(write(text)), read(write(gzip.compress(text.encode()), "packed"))
    assert np.array_equal(plain.latencies_ms, packed.latencies_ms)


@each_reader
def test_byte_order_mark_and_windows_line_ends_do_no_harm(read, text, write):
    other = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert np.array_equal(read(write(other)).latencies_ms, read(write(text)).latencies_ms)


@each_reader
@pytest.mark.parametrize("content", ["", "\n \n"])
def test_empty_file_is_refused(read, text, content, write):
    with pytest.raises(TopologyFileError, match="the file is empty") as caught:
        read(write(content))
    assert caught.value.path.endswith("network.txt")
    assert caught.value.remedy


@each_reader
def test_half_a_file_is_refused(read, text, write):
    """Cut in the second half, but not inside the last number, whose digits alone cannot tell."""
    for end in range(len(text) // 2 + 2, len(text.rstrip()) - 4):
        with pytest.raises(TopologyFileError):
            read(write(text[:end]))


@each_reader
def test_half_a_gzip_file_is_refused(read, text, write):
    packed = gzip.compress(text.encode())
    with pytest.raises(TopologyFileError, match="cut off before its end"):
        read(write(packed[:-12]))
    with pytest.raises(TopologyFileError, match="damaged"):
        read(write(packed[:12] + b"\xff\xff\xff" + packed[15:]))


@each_reader
def test_wrong_encoding_is_refused_with_its_line(read, text, write):
    first, _, rest = text.encode().partition(b"\n")
    with pytest.raises(TopologyFileError, match="line 2: byte 0xe9 is not UTF-8; save the file as UTF-8"):
        read(write(first + b"\n\xe9" + rest))
    with pytest.raises(TopologyFileError, match="UTF-8"):
        read(write(text.encode("utf-16")))


@each_reader
def test_missing_file_and_folder_are_refused(read, text, tmp_path):
    with pytest.raises(TopologyFileError, match="there is no such file"):
        read(tmp_path / "missing")
    with pytest.raises(TopologyFileError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("Topology", "Topography", 1, "starts with"),
        ("Nodes: ( 3 )", "Nodes: ( 4 )", 10, "4 nodes are announced, but only 3"),
        ("Edges: ( 2 )", "Edges: ( 3 )", 12, "3 edges are announced, but only 2"),
        ("Nodes: ( 3 )", "Nodes: ( 0 )", 4, "no nodes"),
        ("9 0 0 1 1 5 RT_NODE", "9 0 0", 7, "3 columns where nodes have 7"),
        ("9 0 0 1 1 5", "8 0 0 1 1 5", 7, "node 8 is there twice"),
        ("9 0 0 1 1 5", "9 0 0 1 1 five", 7, "the AS is 'five'"),
        ("1 9 8", "1 6 8", 12, "node 6, which is not there"),
        ("1 9 8", "1 8 8", 12, "node 8 to itself"),
        ("2.5", "-2.5", 12, "the latency is '-2.5'"),
        ("2.5", "fast", 12, "the latency is 'fast'"),
        ("E_AS U", "E_AS D", 12, "of direction 'D'"),
    ],
)
def test_wrong_brite_line_is_named(old, new, line, words, write):
    with pytest.raises(TopologyFileError, match=words) as caught:
        read_brite(write(BRITE.replace(old, new)))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("A B\n", 1, "2 columns"),
        ("A B 1 2\n", 1, "4 columns"),
        ("A B nan\n", 1, "the latency is 'nan'"),
        ("A B 1\nB B 1\n", 2, "joins B to itself"),
        ("A B 1\n\nA B 1\n", 3, "was there before, on line 1"),
        ("A B 1\nB A 2\n", 2, "takes 2 ms, but 1 ms on line 1"),
        ("A B 1\nB A 1\nB A 1\n", 3, "a third time"),
        ("A B 1\nB C 1\nB A 1\n", 2, "one direction, others in both"),
    ],
)
def test_wrong_rocketfuel_line_is_named(text, line, words, write):
    with pytest.raises(TopologyFileError, match=words) as caught:
        read_rocketfuel(write(text))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": []}, "no nodes"),
        ({"nodes": None}, "no list 'nodes'"),
        ({"edges": {}}, "no list 'edges'"),
        ({"nodes": [{"name": "x"}]}, "node 1 has no 'id'"),
        ({"nodes": [{"id": "0"}, {"id": "0"}]}, "node 2: the id '0' is there twice"),
        ({"edges": [{"source": "0", "target": "9", "dist": 1}]}, "edge 1 names the node '9'"),
        ({"edges": [{"source": "0", "target": "0", "dist": 1}]}, "edge 1 joins the node '0' to itself"),
        ({"edges": [{"source": "0", "dist": 1}]}, "edge 1 has no 'target'"),
        ({"edges": [{"source": "0", "target": "1"}]}, "edge 1 has the distance None"),
        ({"edges": [{"source": "0", "target": "1", "dist": -1}]}, "edge 1 has the distance -1"),
        ({"edges": [{"source": "0", "target": "1", "dist": float("nan")}]}, "edge 1 has the distance nan"),
    ],
)
def test_wrong_topology_zoo_entry_is_named(change, words, write):
    with pytest.raises(TopologyFileError, match=words):
        read_topology_zoo(write(json.dumps(ZOO | change)))


def test_broken_json_is_refused_with_its_line(write):
    with pytest.raises(TopologyFileError, match=r"line 2: is no JSON"):
        read_topology_zoo(write('{"nodes": [],\n oops}'))
    with pytest.raises(TopologyFileError, match="is no graph"):
        read_topology_zoo(write("[]"))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("0 1\n1\n", 2, "1 values where the first row has 2"),
        ("0 1 2\n1 0 2\n", 2, "2 rows of 3 values"),
        ("0 1\nx 0\n", 2, "'x' is no latency"),
        ("0 inf\n1 0\n", 1, "'inf' is no latency"),
        ("0 1\n1 3\n", 2, "server 1 takes 3 ms to reach itself"),
    ],
)
def test_wrong_matrix_line_is_named(text, line, words, write):
    with pytest.raises(TopologyFileError, match=words) as caught:
        read_latency_matrix(write(text))
    assert caught.value.line == line


def test_published_topologies_are_read(shared_data):
    topologies = shared_data / "data" / "topologies"
    network = read_brite(topologies / "brite-topdown.brite.gz")
    assert (network.routers, network.links, network.is_connected) == (1_500, 3_060, True)
    sizes = {}
    for number in (1221, 1239, 1755):
        network = read_rocketfuel(topologies / "rocketfuel" / f"{number}.latencies.intra")
        sizes[number] = network.routers, network.links
    assert sizes == {1221: (108, 153), 1239: (315, 972), 1755: (87, 161)}
    assert len(list_topology_zoo(topologies / "topohub-topozoo.tar.gz")) == 203
    assert read_topology_zoo(topologies / "topohub-topozoo.tar.gz", "Geant2012").is_connected


def test_published_latencies_are_read(shared_data):
    underlay = read_latency_matrix(shared_data / "data" / "latency" / "planetlab-490-rtt-slice1.txt.gz")
    assert underlay.servers == 490
    assert underlay.latency_ms(0, 3) == 60.71
