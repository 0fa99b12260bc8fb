"""Whether the steps of a schedule make sense one after the other; whatever does not is an error about its step.

All servers run in the beginning, but for those that `churn.absent` names. A step that can do nothing (to heal what is
whole, to restart what runs, to subscribe at a server that is down) would not fail: it would do nothing, or excuse the
events around it, and a verdict would be about another run than the one that was meant. So it is refused before anything
runs.

                crash                 restart
        runs ──────────▶ crashed ──────────────▶ runs
        runs ──leave──▶ left ──join──▶ runs                 a server that joins comes without its disk
        whole ──cut──▶ cut ──cut──▶ cut ──heal──▶ whole
"""

from __future__ import annotations

from collections import Counter

from siftcast.runtimes.sim.churn import absent_servers
from siftcast.runtimes.sim.scenario import ScenarioFile, Step

_BEGINS = {"crash": "crashed", "leave": "left"}
_ENDS = {"restart": "crashed", "join": "left"}
_AT_A_RUNNING_SERVER = ("subscribe", "unsubscribe")


def check_schedule(file: ScenarioFile, servers: int) -> None:
    """Raises ScenarioError for the first step, by time, that makes no sense on a network of so many servers."""
    schedule = file.scenario.schedule
    for number, step in enumerate(schedule):
        _check_nodes(file, number, step, servers)
    absent = absent_servers(file.scenario.churn, servers)
    if absent and absent[-1] >= servers:
        raise file.error("churn.absent", f"there is no server {absent[-1]}", f"servers are numbered 0 … {servers - 1}")
    down: dict[int, str] = dict.fromkeys(absent, "left")
    cut = False
    # Steps at the same time happen in the order of the file.
    for number, step in sorted(enumerate(schedule), key=lambda each: each[1].at_ms):
        _check_time(file, number, step)
        if step.node is not None and step.do not in ("cut", "heal"):
            _check_server(file, number, step.do, step.node, down)
        elif step.do == "heal" and not cut:
            raise _error(file, number, "there is no cut to heal", "a cut must come before, as in do = 'cut'")
        if step.do in ("cut", "heal"):
            cut = step.do == "cut"


def _check_nodes(file: ScenarioFile, number: int, step: Step, servers: int) -> None:
    named = [node for group in step.groups or [] for node in group]
    for node in [step.node or 0, *named]:
        if node >= servers:
            raise _error(file, number, f"there is no server {node}", f"servers are numbered 0 … {servers - 1}")
    if step.do != "cut":
        return
    twice = [node for node, count in Counter(named).items() if count > 1]
    if twice:
        raise _error(file, number, f"server {twice[0]} is in two groups", "each server is on one side of a cut")
    sides = [group for group in step.groups or [] if group]
    if len(sides) + (len(named) < servers) < 2:
        raise _error(file, number, "the cut has one side only", "servers in no group are one more group together")


def _check_time(file: ScenarioFile, number: int, step: Step) -> None:
    until = file.scenario.timing.publish_ms
    if until is not None and step.at_ms > until:
        problem = f"it would happen at {step.at_ms:g} ms, and the run ends at {until:g} ms"
        raise _error(file, number, problem, "let it happen sooner, or let the run last longer: timing.publish_ms")


def _check_server(file: ScenarioFile, number: int, action: str, node: int, down: dict[int, str]) -> None:
    state = down.get(node, "runs")
    if action in _BEGINS:
        if state != "runs":
            raise _error(file, number, f"server {node} has {state} before and cannot {action}", _remedy(state))
        down[node] = _BEGINS[action]
    elif action in _ENDS:
        if state != _ENDS[action]:
            problem = f"server {node} runs" if state == "runs" else f"server {node} has {state}"
            raise _error(file, number, f"{problem} and cannot {action}", _remedy(state))
        del down[node]
    elif action in _AT_A_RUNNING_SERVER and state != "runs":
        raise _error(file, number, f"server {node} has {state}, and nobody hears who wants to {action}", _remedy(state))


def _remedy(state: str) -> str:
    if state == "runs":
        return "after 'crash' it may 'restart', after 'leave' it may 'join'"
    return "'restart' brings it back" if state == "crashed" else "'join' brings it back, without its disk"


def _error(file: ScenarioFile, number: int, problem: str, remedy: str) -> Exception:
    return file.error(f"schedule[{number}]", problem, remedy)
