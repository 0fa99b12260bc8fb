"""The tables of `siftcast members`: all in one where there is room for it, and no word cut where there is not."""

from io import StringIO

import pytest
from rich.console import Console

from siftcast.interfaces.cli.members_command import member_tables

HERE = {"name": "berlin", "identity": 610847393878084098, "state": "present", "reach": "this node"}
THERE = {
    **HERE,
    "name": "tokyo",
    "reach": "connected",
    "delay_ms": 130.2,
    "predicted_ms": 154.7,
    "coordinate": [71.1, -17.1, 34.9, 0.51],
    "route": {"status": "ok", "routers": ["10.0.0.1", None]},
}
ROWS = [{**row, "address": "127.0.0.1:7007", "roles": "coordinator"} for row in (HERE, THERE)]


@pytest.mark.parametrize(("width", "tables"), [(80, 2), (160, 1)])
def test_members_are_shown_in_as_many_tables_as_no_word_is_cut_in(width: int, tables: int) -> None:
    console = Console(width=width, file=StringIO())
    made = member_tables(ROWS, console)
    with console.capture() as capture:
        for table in made:
            console.print(table)
    lines = capture.get().splitlines()
    assert len(made) == tables
    assert len(lines) == tables * (1 + len(ROWS)), "no cell is folded"
    for said in ("coordinator", "127.0.0.1:7007", "130.2 ms", "(71.1, -17.1) + 34.9 ± 51%", "10.0.0.1 *"):
        assert said in capture.get()


def test_nodes_that_know_no_ways_have_one_table_however_narrow_it_is() -> None:
    assert len(member_tables([HERE], Console(width=20))) == 1
