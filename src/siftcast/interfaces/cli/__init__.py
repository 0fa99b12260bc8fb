"""The `siftcast` command: match, explain, check, generate, serve, publish, subscribe, simulate, reproduce, demo.

    app.py                  the commands, and how a mistake becomes one short message and an exit code
    *_command.py            one command each
    input_bytes.py          files, plain or gzip, as chunks of bytes
    text_blocks.py          bytes as blocks of whole lines
    event_files.py          events as blocks of rows, whatever the format (csv_, json_, table_events.py)
    subscription_files.py   subscriptions from JSONL, CSV and Parquet
    rejections.py           what could not be used, with its reason
    pair_files.py           matches as JSONL, CSV and Parquet
    pipeline.py             reading, matching and writing at the same time, and which of them limits

One promise runs through all of it: every row of an input is either used or written, with a reason, to the
rejected file, and the two counts add up to the number of rows read.
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
