"""Ground files: what is written is read again, what is wrong is said, and how gaps in what was measured are filled."""

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import TopologyFileError
from siftcast.model.errors import UnderlayError
from siftcast.underlay import (
    GroundFile,
    GroundHost,
    GroundRoute,
    Hops,
    read_ground,
    read_ground_underlay,
    write_ground,
)

MEASURED = datetime(2026, 11, 19, 17, tzinfo=UTC)
HOSTS = (GroundHost("a", 1, "10.0.0.7:7400"), GroundHost("b", 2), GroundHost("c", 3))
ROUTES = (
    GroundRoute(0, 1, "ok", ("10.0.0.1", None), (0.25, None)),
    GroundRoute(1, 0, "partial", ("10.0.0.9",)),
    GroundRoute(0, 2, "unavailable"),
)
GROUND = GroundFile(MEASURED, HOSTS, ((0, 1.5, None), (1.25, 0, 2), (None, 2.5, 0)), ROUTES)
TEXT = GROUND.encode().decode()


def ground(*rows, routes=()):
    hosts = tuple(GroundHost(f"h{number}") for number in range(len(rows)))
    return GroundFile(MEASURED, hosts, rows, routes)


@pytest.fixture
def underlay(tmp_path):
    """The underlay of a ground, over a file."""

    def underlay(written, **options):
        write_ground(tmp_path / "my.ground", written)
        return read_ground_underlay(tmp_path / "my.ground", **options)

    return underlay


# -- the file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_what_is_written_is_read_again(tmp_path, pack):
    path = tmp_path / "my.ground"
    write_ground(path, GROUND)
    path.write_bytes(pack(path.read_bytes()))
    assert read_ground(path) == GROUND
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_a_line_for_each_host_row_and_route():
    assert TEXT.startswith('{"format": "siftcast-ground-1", "measured": "2026-11-19T17:00:00Z",\n')
    lines = [line.strip(" ,") for line in TEXT.splitlines()]
    assert '{"name":"a","identity":1,"address":"10.0.0.7:7400"}' in lines
    assert "[1.25,0,2]" in lines
    assert '{"from":0,"to":1,"status":"ok","routers":["10.0.0.1",null],"delays_ms":[0.25,null]}' in lines


delays = st.none() | st.floats(0, 1e6, allow_nan=False)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.data())
def test_every_ground_survives_its_file(names, data):
    hosts = range(len(names))
    rows = tuple(tuple(0.0 if a == b else data.draw(delays) for b in hosts) for a in hosts)
    ends = st.tuples(st.sampled_from(hosts), st.sampled_from(hosts)).filter(lambda pair: pair[0] != pair[1])
    pairs = data.draw(st.sets(ends, max_size=4)) if len(names) > 1 else ()
    routers = st.lists(st.tuples(st.none() | st.text(min_size=1), delays), max_size=3)
    routes = []
    for start, end in sorted(pairs):
        drawn = data.draw(routers)
        routes.append(GroundRoute(start, end, "ok", tuple(name for name, _ in drawn), tuple(ms for _, ms in drawn)))
    made = GroundFile(MEASURED, tuple(map(GroundHost, names)), rows, tuple(routes))
    assert GroundFile.decode(made.encode()) == made


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        ("", None, "the file is empty"),
        (TEXT[: len(TEXT) // 2], 9, "is no whole JSON.*truncated.*may be cut off"),
        (TEXT.rstrip()[:-1], 16, "is no whole JSON.*may be cut off"),
        (TEXT.replace("1.5", "NaN"), 8, "is no whole JSON.*invalid character"),
        (b'{"format": "\xff"}', 1, "0xff is not UTF-8"),
        ("[]", None, "Expected `object`, got `array`; a ground file is of the format siftcast-ground-1"),
        ("{}", None, "missing required field `format`"),
        (TEXT.replace('"format": "siftcast-ground-1", ', ""), None, "missing required field `format`"),
        ("[" * 100_000, None, "nested too deeply|Expected `object`"),
        (TEXT.replace("ground-1", "ground-2"), None, r"'siftcast-ground-2' - at `\$\.format`"),
        (TEXT.replace('"routes"', '"rotues"'), None, "unknown field `rotues`"),
        (TEXT.replace("17:00:00Z", "17:00:00"), None, "timezone"),
        (TEXT.replace('"a"', '""'), None, r"hosts\[0\]\.name"),
        (TEXT.replace('"identity":3', '"identity":-3'), None, r"hosts\[2\]\.identity"),
        (TEXT.replace('"identity":3', '"identity":1'), None, "2 hosts have the identity 1"),
        (TEXT.replace("1.5", '"1.5"'), None, r"delays_ms\[0\]\[1\]"),
        (TEXT.replace("1.5", "true"), None, r"delays_ms\[0\]\[1\]"),
        (TEXT.replace("1.5", "1e999"), None, r"delays_ms\[0\]\[1\]"),
        (TEXT.replace("1.5", "-1.5"), None, r"from host 0 to host 1 is -1\.5 ms; it is a finite number of at least 0"),
        (TEXT.replace("1.25,0,2", "1.25,0"), None, "delays from host 1 are 2 numbers for 3 hosts"),
        (TEXT.replace(",\n  [null,2.5,0]", ""), None, "2 rows of delays for 3 hosts"),
        (TEXT.replace("1.25,0,2", "1.25,4,2"), None, "host 1 takes 4 ms to reach itself"),
        (TEXT.replace('"to":2', '"to":3'), None, r"host 0 to host 3 names a host that is not there; .* 0 … 2"),
        (TEXT.replace('"to":2', '"to":-2'), None, r"routes\[2\]\.to"),
        (TEXT.replace('"to":2', '"to":0'), None, "goes nowhere"),
        (TEXT.replace('"to":2', '"to":1'), None, "host 0 to host 1 is there twice"),
        (TEXT.replace('"ok"', '"fine"'), None, r"routes\[0\]\.status"),
        (TEXT.replace('"ok"', '"unavailable"'), None, "is unavailable, and yet names 2 routers"),
        (TEXT.replace("[0.25,null]", "[0.25]"), None, "has 1 delays for 2 routers"),
        (TEXT.replace("[0.25,null]", "[-0.25,null]"), None, r"from host 0 to host 1 to router 0 is -0\.25 ms"),
        (TEXT.replace('"10.0.0.9"', '""'), None, "a router whose name is empty"),
    ],
)
def test_a_bad_file_is_refused_with_what_is_wrong(tmp_path, content, line, told):
    assert content != TEXT
    path = tmp_path / "bad.ground"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TopologyFileError, match=told) as raised:
        read_ground(path)
    assert raised.value.path == str(path)
    assert raised.value.line == line


def test_files_that_are_too_large_are_refused_unpacked_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr("siftcast.underlay.ground_file.BYTES_MAX", 2_000_000)
    path = tmp_path / "large.ground"
    for content in (bytes(2_000_001), gzip.compress(bytes(1_000_000_000 // 100))):
        path.write_bytes(content)
        with pytest.raises(TopologyFileError, match="holds more than 2,000,000 bytes"):
            read_ground(path)


def test_a_ground_that_makes_no_sense_cannot_be_made():
    with pytest.raises(UnderlayError, match="from 1 to 2,000 hosts, not 0"):
        ground()
    with pytest.raises(UnderlayError, match="from host 0 to host 1 is nan ms"):
        ground((0, np.nan), (1, 0))


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    with pytest.raises(TopologyFileError, match="cannot be written"):
        write_ground(tmp_path / "none" / "my.ground", GROUND)


def test_only_a_file_is_replaced_and_behind_a_link_it_is_the_one_that_the_link_names(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path / "pipe", "is no file"), (tmp_path, "is a folder"), (Path(), "is a folder")):
        with pytest.raises(TopologyFileError, match=said):
            write_ground(path, GROUND)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to(tmp_path / "named")
    write_ground(tmp_path / "link", GROUND)
    assert (tmp_path / "link").is_symlink()
    assert read_ground(tmp_path / "named") == GROUND


# -- the underlay --------------------------------------------------------------------------------------


def test_hosts_are_servers_with_their_names_delays_and_routes(underlay):
    made = underlay(GROUND)
    assert made.server_names == ("a", "b", "c")
    assert (made.latency_ms(0, 1), made.latency_ms(1, 0), made.latency_ms(2, 1)) == (1.5, 1.25, 2.5)
    assert made.hops(0, 1) == Hops(("10.0.0.1", None), (0.25, None), "ok")
    assert made.hops(1, 0) == Hops(("10.0.0.9",), (None,), "partial")
    assert made.hops(0, 2).status == made.hops(2, 0).status == made.hops(2, 1).status == "unavailable"
    assert made.router_names == ("10.0.0.1", "10.0.0.9")


def test_an_unknown_delay_is_that_of_the_other_direction(underlay):
    made = underlay(ground((0, None, 9), (4, 0, 1), (9, 1, 0)))
    assert (made.latency_ms(0, 1), made.latency_ms(1, 0)) == (4.0, 4.0)


def test_a_delay_unknown_in_both_directions_is_the_shortest_way_over_known_ones(underlay):
    made = underlay(ground((0, 1, None, 0), (2, 0, 4, 9), (None, 8, 0, 3), (0, 9, None, 0)))
    assert made.latency_ms(0, 2) == 3.0  # over host 3, 0 ms away, by the delay from 2 to 3 taken for both directions
    assert made.latency_ms(2, 0) == 3.0
    assert made.latency_ms(0, 1) == 1.0  # known, and not replaced
    assert made.latency_ms(3, 1) == 9.0  # known, although a way over host 0 is shorter


def test_hosts_measured_apart_are_refused_or_dropped(underlay):
    n = None
    apart = ground((0, n, n, n), (n, 0, 1, n), (n, 1, 0, n), (n, n, n, 0), routes=(GroundRoute(2, 1, "ok", ("r",)),))
    with pytest.raises(TopologyFileError, match=r"no delay is known between host 0 \('h0'\) and host 1 \('h1'\)"):
        underlay(apart)
    with pytest.raises(TopologyFileError, match="missing is 'guess'; choose one of refuse, drop"):
        underlay(apart, missing="guess")
    kept = underlay(apart, missing="drop")
    assert kept.server_names == ("h1", "h2")
    assert kept.hops(1, 0).routers == ("r",)


@given(st.integers(1, 6), st.data())
def test_filled_delays_keep_all_that_is_known_and_leave_none_out(tmp_path_factory, hosts, data):
    rows = [[0.0 if a == b else data.draw(delays) for b in range(hosts)] for a in range(hosts)]
    for host in range(1, hosts):  # so that all hang together
        rows[host - 1][host] = rows[host - 1][host] or 1.0
    path = tmp_path_factory.getbasetemp() / "drawn.ground"
    write_ground(path, ground(*map(tuple, rows)))
    made = read_ground_underlay(path).latencies_ms
    for a in range(hosts):
        for b in range(hosts):
            assert made[a, b] == (rows[a][b] if rows[a][b] is not None else made[a, b])
            if rows[a][b] is None and rows[b][a] is not None:
                assert made[a, b] == rows[b][a]
    assert np.isfinite(made).all()


def test_the_first_hosts_are_a_smaller_network(underlay):
    made = underlay(GROUND)
    two = made.first(2)
    assert (two.servers, two.server_names, two.router_names) == (2, ("a", "b"), ("10.0.0.1", "10.0.0.9"))
    assert two.hops(0, 1) == made.hops(0, 1)
    for wrong in (0, 4):
        with pytest.raises(UnderlayError, match="3 servers were measured, so there can be 1 to 3"):
            made.first(wrong)
