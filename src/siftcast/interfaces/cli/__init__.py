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

from siftcast.interfaces.cli.app import main

__all__ = ["main"]
