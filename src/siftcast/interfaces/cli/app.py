"""The commands under one name, and what becomes of an error.

A user's mistake (SiftcastError, an unreadable file, a wrong option) is one short message on standard error and exit
status 2. A defect of ours is status 3, with a request to report it. Tracebacks appear only on request: `--debug`
anywhere on the line, or SIFTCAST_DEBUG=1.

Commands import what they need when they run, so that `siftcast --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.text import Text

from siftcast import __version__
from siftcast.interfaces.cli.audit_command import audit
from siftcast.interfaces.cli.check_command import check
from siftcast.interfaces.cli.completion_command import completion_of
from siftcast.interfaces.cli.demo_command import demo
from siftcast.interfaces.cli.explain_command import explain
from siftcast.interfaces.cli.generate_command import generate
from siftcast.interfaces.cli.ground_command import ground
from siftcast.interfaces.cli.keys_command import keys_app
from siftcast.interfaces.cli.match_command import match
from siftcast.interfaces.cli.members_command import forget, leave, members
from siftcast.interfaces.cli.network_command import network_app
from siftcast.interfaces.cli.outcome import DEFECT, FAILED, INTERRUPTED, OK
from siftcast.interfaces.cli.plan_command import plan_app
from siftcast.interfaces.cli.publish_command import publish
from siftcast.interfaces.cli.reload_command import reload
from siftcast.interfaces.cli.reproduce_command import reproduce
from siftcast.interfaces.cli.schemes_command import schemes
from siftcast.interfaces.cli.serve_command import serve
from siftcast.interfaces.cli.simulate_command import simulate
from siftcast.interfaces.cli.slow_line_command import slow_line
from siftcast.interfaces.cli.spark_cluster import cluster
from siftcast.interfaces.cli.spark_match import match as spark_match
from siftcast.interfaces.cli.spark_planning import partition, statistics
from siftcast.interfaces.cli.spark_stream import stream
from siftcast.interfaces.cli.subscribe_command import subscribe
from siftcast.interfaces.cli.subscriptions_command import subscriptions
from siftcast.interfaces.cli.terminal import err
from siftcast.interfaces.cli.token_command import token_app
from siftcast.interfaces.cli.trace_command import trace
from siftcast.model import SiftcastError

_LINES_MAX = 12
_EPILOGUE = (
    "Exit status: 0 done; 1 done, but some input was rejected or a check failed; 2 a mistake in the "
    "command or its files; 130 interrupted. --debug shows tracebacks."
)

app = App(
    name="siftcast",
    help="Content-based publish/subscribe: find the subscriptions that each event satisfies.",
    help_epilogue=_EPILOGUE,
    help_format="markdown",
    version=f"siftcast {__version__}",
    suppress_keyboard_interrupt=False,
)
for command in (
    match, explain, check, generate, serve, publish, subscribe, subscriptions, trace, members, leave, forget, reload,
    audit, schemes, ground, simulate, reproduce, slow_line, demo,
):  # fmt: skip
    app.command(command)
app.command(network_app)
app.command(plan_app)
app.command(keys_app)
app.command(token_app)
spark_app = App(
    name="spark",
    help="The data pipeline on Spark: any number of events, embedded or on a cluster.",
    help_format="markdown",
)
for spark_command in (spark_match, stream, statistics, partition, cluster):
    spark_app.command(spark_command)
app.command(spark_app)
app.command(completion_of(app))


def main(tokens: Sequence[str] | None = None) -> int:
    """Runs one command line and returns the exit status."""
    given = list(sys.argv[1:] if tokens is None else tokens)
    debug = "--debug" in given or os.environ.get("SIFTCAST_DEBUG", "") not in ("", "0")
    given = [token for token in given if token != "--debug"]
    try:
        result = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return result if isinstance(result, int) else OK
    except Exception as error:
        if debug:
            err().print_exception()
        return _report(error, given)
    except KeyboardInterrupt:
        _say("Interrupted", "yellow")
        return INTERRUPTED


def _report(error: Exception, tokens: Sequence[str]) -> int:
    """Says what went wrong; returns the exit status."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has seen enough, as in `siftcast … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    if isinstance(error, CycloptsError):
        known = next((token for token in tokens[:1] if token in app), "")
        _say(f"{error}\nsiftcast {known + ' ' if known else ''}--help shows what is accepted.")
    elif isinstance(error, SiftcastError):
        _say(f"{error}")
    elif isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        _say(f"{name}{error.strerror or error}")
    elif isinstance(error, MemoryError):
        _say("there is not enough memory for this")
    else:
        _say(f"a defect in Siftcast, please report it: {type(error).__name__}: {error}\n--debug shows the traceback.")
        return DEFECT
    return FAILED


def _say(message: str, style: str = "bold red") -> None:
    lines = message.splitlines() or [""]
    if len(lines) > _LINES_MAX:
        lines = [*lines[: _LINES_MAX - 1], f"… ({len(lines) - _LINES_MAX + 1} lines more)"]
    lines = [line if len(line) <= 600 else line[:599] + "…" for line in lines]
    text = Text.assemble(("siftcast: ", style), "\n".join(lines))
    err().print(text, soft_wrap=True)
