"""What whoever runs a network asks of one of its nodes: who is there, to leave, to forget, to plan or read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from siftcast.overlays.epochs.view import ABSENT
from siftcast.overlays.epochs.words import LAST
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.errors import LEFT, Refused
from siftcast.runtimes.live.wire.frames import Description, Operate
from siftcast.space.coordinates import Coordinate

_LOOK_S = 0.2
Rows = list[dict[str, Any]]
Progress = Callable[[Mapping[str, Any]], None]
"""Is called with what the node says about itself while it works; with nothing, once it has taken the request."""


async def members_of(bus: Bus) -> Rows:
    """The members of the network, as the node sees them."""
    rows: Rows = (await bus.describe())["members"]
    return rows


async def members_of_all(bus: Bus) -> tuple[dict[str, Rows], list[str]]:
    """The members as each node sees them, by the name of that node, and the nodes that did not answer."""
    facts = await bus._inquire("members", b"")
    found = {answer["node"]: answer["members"] for answer in facts["answers"]}
    _predict(found.values())
    return found, facts["silent"]


def _predict(lists: Iterable[Rows]) -> None:
    """Adds what coordinates say about nodes that were not measured: each node says where it is itself.

    A node's own row is the one with a coordinate and without a prediction.
    """
    own = [(next((row for row in rows if _is_own(row)), None), rows) for rows in lists]
    places = {row["identity"]: row["coordinate"] for row, _ in own if row is not None}
    for here, rows in own:
        if here is None:
            continue
        for row in rows:
            place = places.get(row["identity"])
            if row is not here and "coordinate" not in row and place is not None:
                predicted_ms = Coordinate(*here["coordinate"]).delay_ms(Coordinate(*place))
                row |= {"coordinate": place, "predicted_ms": predicted_ms}


def _is_own(row: Mapping[str, Any]) -> bool:
    return "coordinate" in row and "predicted_ms" not in row


async def leave(bus: Bus, progress: Progress) -> str:
    """Has the node leave its network, and waits until it has; returns its last words, which say who has what it had."""
    link = await bus._present()
    closed = asyncio.ensure_future(link.closed())
    try:
        await link.request(lambda number: Operate(number, "leave"))
        progress({})
        while not (await asyncio.wait((closed,), timeout=_LOOK_S))[0]:
            answer = asyncio.ensure_future(bus.describe())
            await asyncio.wait((closed, answer), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and answer.exception() is None:
                progress(answer.result())
                if not answer.result()["state"].get("asked_to_leave", True):
                    raise Refused(f"the node could not leave: {LAST}")
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
    except Exception:
        if not closed.done() or LEFT not in str(closed.result()):
            raise
    finally:
        closed.cancel()
    last = str(closed.result())
    if LEFT not in last:
        raise closed.result()
    return last[last.index(LEFT) :]


async def forget(bus: Bus, node: str, progress: Progress) -> Rows:
    """Declares a node gone, by name or identity, and waits until it is; returns what is reported about it."""
    link = await bus._present()
    over = {row["identity"] for row in await members_of(bus) if row["state"] in ("gone", "left")}
    answer: Description = await link.request(lambda number: Operate(number, "forget", node))
    reports: Rows = answer.facts["reports"]
    progress({})
    while True:
        facts = await bus.describe()
        named = [row for row in facts["members"] if node in (row["name"], str(row["identity"]))]
        waits = [row for row in named if row["identity"] not in over]  # another may have had this name before
        if all(row["state"] in ("gone", "left", "known") for row in waits):
            break
        progress(facts)
        await asyncio.sleep(_LOOK_S)
    held = [{"what": "held by it alone", "is": row["held"]} for row in waits if row.get("held")]
    return [*reports, *held]


async def apply(bus: Bus, text: str, progress: Progress, remark: Callable[[str], None] = lambda said: None) -> int:
    """Has the network planned by another configuration, and waits until it is; returns the number of the plan.

    `remark` is given what in the options will not come out as it says, a sentence each.
    """
    link = await bus._present()
    before = (await bus.describe())["state"].get("epoch", 0)
    answer: Description = await link.request(lambda number: Operate(number, "apply", text))
    for said in answer.facts.get("remarks", ()):
        remark(said)
    return await _planned(bus, before, progress)


async def replan(bus: Bus, show: Progress, progress: Progress) -> int:
    """Has the network planned by what its nodes have measured, and waits until it is; returns the number of the plan.

    `show` is given what was measured, `progress` the state of the node meanwhile.
    """
    link = await bus._present()
    before = (await bus.describe())["state"].get("epoch", 0)
    answer: Description = await link.request(lambda number: Operate(number, "replan"))
    show(answer.facts)
    return await _planned(bus, before, progress)


async def reload(bus: Bus) -> Mapping[str, Any]:
    """Has the node read its configuration again; returns what has changed. Raises LiveError if it cannot be used."""
    link = await bus._present()
    answer: Description = await link.request(lambda number: Operate(number, "reload"))
    return answer.facts


async def _planned(bus: Bus, before: int, progress: Progress) -> int:
    progress({})
    while True:
        facts = await bus.describe()
        state = facts["state"]
        # An earlier plan stays open for members that are absent, which may hold messages of it; nobody waits for that.
        is_absent = any(row["state"] == ABSENT for row in facts["members"])
        if state["epoch"] > before and (is_absent or len(state["epochs"]) == 1):
            return int(state["epoch"])
        if not state["planning"] and state["epochs"] == [before]:
            return int(before)
        progress(facts)
        await asyncio.sleep(_LOOK_S)
