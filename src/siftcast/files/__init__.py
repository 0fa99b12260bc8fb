"""Files of events, subscriptions, matches and rejected rows: one set of readers and writers for everybody.

    input_bytes.py          a file, plain or gzip, as chunks of bytes
    text_blocks.py          bytes as blocks of whole lines
    event_files.py          events as blocks of rows, whatever the format
    json_events.py          … from JSON lines, in the main by Arrow (json_blocks.py)
    csv_events.py           … from CSV; cell by cell where a block does not fit (cell_conversion.py)
    table_events.py         … from Parquet and Arrow
    schema_coercion.py      a schema applied to a block
    subscription_files.py   subscriptions from JSON lines, CSV and Parquet
    pair_files.py           matches as JSON lines, CSV and Parquet
    rejections.py           what could not be used, with its reason
    formats.py              which format a file name stands for
    csv_rows.py             one row of CSV on its own

A block is read by Arrow as a whole, and row by row only where something is wrong in it. One promise runs through all
of it: every row of an input is either used or written, with a reason, to the rejected file, and the two counts add up
to the number of rows read.
"""

from siftcast.files.csv_rows import cell_misfit, read_cells
from siftcast.files.dictionary_memo import DictionaryMemo
from siftcast.files.event_blocks import EventBlock, EventReader, Numbers
from siftcast.files.event_files import event_format, open_events, reader_class
from siftcast.files.formats import COMPRESSIONS, format_named, format_of, suffixes_of
from siftcast.files.pair_files import PairFile, check_output, pair_schema
from siftcast.files.rejections import ROW_ERRORS, RejectedFile, Rejection, escaped
from siftcast.files.subscription_files import Entry, parse_subscriptions, read_subscriptions, subscription_format
from siftcast.files.table_events import ROWS_PER_BLOCK

__all__ = [
    "COMPRESSIONS", "ROWS_PER_BLOCK", "ROW_ERRORS", "DictionaryMemo", "Entry", "EventBlock", "EventReader", "Numbers",
    "PairFile", "RejectedFile", "Rejection", "cell_misfit", "check_output", "escaped", "event_format", "format_named",
    "format_of", "open_events", "pair_schema", "parse_subscriptions", "read_cells", "read_subscriptions",
    "reader_class", "subscription_format", "suffixes_of",
]  # fmt: skip
