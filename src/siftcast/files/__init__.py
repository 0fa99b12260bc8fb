"""Files of events, subscriptions, matches and rejected rows: one set of readers and writers for everybody.

    input_bytes.py          a file, plain or gzip, as chunks of bytes
    text_blocks.py          bytes as blocks of whole lines
    event_files.py          events as blocks of rows, whatever the format
    json_events.py          … from JSON lines
    csv_events.py           … from CSV; cell by cell where a block does not fit (cell_conversion.py)
    table_events.py         … from Parquet and Arrow
    schema_coercion.py      a schema applied to a block
    subscription_files.py   subscriptions from JSON lines, CSV and Parquet
    pair_files.py           matches as JSON lines, CSV and Parquet
    rejections.py           what could not be used, with its reason

A block is read by Arrow as a whole, and row by row only where something is wrong in it. One promise runs through all
of it: every row of an input is either used or written, with a reason, to the rejected file, and the two counts add up
to the number of rows read.
"""

from siftcast.files.dictionary_memo import DictionaryMemo
from siftcast.files.event_blocks import EventBlock, EventReader, Numbers
from siftcast.files.event_files import check_event_suffix, open_events, reader_class
from siftcast.files.pair_files import PairFile, check_output, pair_schema
from siftcast.files.rejections import RejectedFile, reason_of
from siftcast.files.subscription_files import Entry, check_subscription_suffix, parse_subscriptions, read_subscriptions
from siftcast.files.table_events import ROWS_PER_BLOCK

__all__ = [
    "ROWS_PER_BLOCK", "DictionaryMemo", "Entry", "EventBlock", "EventReader", "Numbers", "PairFile", "RejectedFile",
    "check_event_suffix", "check_output", "check_subscription_suffix", "open_events", "pair_schema",
    "parse_subscriptions", "read_subscriptions", "reader_class", "reason_of",
]  # fmt: skip
