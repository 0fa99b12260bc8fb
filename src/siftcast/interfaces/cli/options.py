"""Options that several commands have, each with the words that `--help` says about it everywhere.

What only one command has stands in its own docstring.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Quiet = Annotated[Flag, Parameter(help="Say nothing unless something is wrong.")]
JsonSummary = Annotated[Flag, Parameter(help="Print the summary as one line of JSON.")]
JsonAnswer = Annotated[Flag, Parameter(help="Print everything as one line of JSON.")]
Engine = Annotated[str, Parameter(help="The matching engine.")]
TypesFile = Annotated[
    Path | None,
    Parameter(help="A TOML file with the types of the attributes. Without it types are those of the file, or guessed."),
]

# -- commands with a node ----------------------------------------------------------------------------

Node = Annotated[
    str | None,
    Parameter(
        help="The node; without it SIFTCAST_URL in the environment says where it is, or else siftcast://127.0.0.1:7007."
    ),
]
Authorities = Annotated[
    Path | None,
    Parameter(
        help="A file with the certificates to believe, instead of the machine's, where the node's address is "
        "siftcasts://."
    ),
]

KeysFolder = Annotated[
    Path | None,
    Parameter(help="A folder with a key ring (siftcast keys), for payloads that only members of a group read."),
]

# -- commands on Spark -------------------------------------------------------------------------------

OutputFormat = Literal["parquet", "json", "csv", "orc"]
EventFiles = Annotated[
    str, Parameter(help="Events: a file, a folder or a pattern; .jsonl, .csv (with a header), .parquet or .orc.")
]
SubscriptionFiles = Annotated[str, Parameter(help="Subscriptions in the same formats, with the columns id and filter.")]
EventFormat = Annotated[
    str | None, Parameter(help="The format of the events, where their name does not say it; any that Spark knows.")
]
SubscriptionFormat = Annotated[str | None, Parameter(help="The format of the subscriptions, likewise.")]
ColumnTypesFile = Annotated[
    Path | None,
    Parameter(help="A TOML file with the types of the attributes. Without it they are those of the file, or guessed."),
]
Weight = Annotated[
    str | None,
    Parameter(help="A column of the events that says what each costs, such as its size; without it all cost the same."),
]
LenientFilters = Annotated[
    Flag,
    Parameter(help="Take also filters that no event can answer: of columns that are not there, or of other types."),
]
LenientSchema = Annotated[
    Flag,
    Parameter(
        help="Go on also where the events lack attributes of the schema, which are then null, or have them of other "
        "types."
    ),
]
Master = Annotated[
    str | None,
    Parameter(help="Where to run: local[4], spark://host:7077. By default all cores of this machine."),
]
