"""The `siftcast` command.

    app.py                  the commands, and how an error becomes one short message and an exit code
    *_command.py            one command each
    spark_*.py              those under `siftcast spark`, and what they share
    options.py              options that several commands have
    pipeline.py             reading, matching and writing at the same time, and which of them limits

Files are read and written by the room `files`.
"""

import sys
from collections.abc import Sequence

from siftcast.interfaces.cli.outcome import INTERRUPTED

__all__ = ["main"]


def main(tokens: Sequence[str] | None = None) -> int:
    """Runs one command line and returns the exit status; Ctrl-C while the commands are still loaded is one, too."""
    try:
        from siftcast.interfaces.cli import app
    except KeyboardInterrupt:
        sys.stderr.write("siftcast: Interrupted\n")
        return INTERRUPTED
    return app.main(tokens)
