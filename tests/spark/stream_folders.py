"""The folders of a stream, and what a user does with them."""

import json
from pathlib import Path

from siftcast import spark as ss

SCHEMA = "n long, a long"
CHANGE = ("op", "id", "filter", "version")


class StreamFolders:
    """Events and changes go in, matches come out."""

    def __init__(self, root: Path) -> None:
        self.events, self.changes = root / "events", root / "changes"
        self.output, self.checkpoint = root / "output", root / "checkpoint"
        self._drafts = root / "drafts"
        for folder in (self.events, self.changes, self._drafts):
            folder.mkdir()

    def publish(self, name, *rows):
        """Events as dictionaries or lines."""
        self._move_in(self.events, name, rows)

    def change(self, name, *rows):
        """Changes as tuples or lines."""
        rows = (row if isinstance(row, str) else dict(zip(CHANGE, row, strict=True)) for row in rows)
        self._move_in(self.changes, name, rows)

    def _move_in(self, folder, name, rows):
        """Lets a file appear whole, as writers must."""
        draft = self._drafts / name
        draft.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        draft.rename(folder / name)

    def start(self, events=None, **options):
        events = events or ss.read_event_stream(self.events, SCHEMA, files_per_batch_max=1)
        return ss.match_stream(events, self.changes, output=self.output, checkpoint=self.checkpoint, **options)

    def run(self, events=None, **options):
        query = self.start(events, trigger="available now", **options)
        query.await_termination()
        return query

    def pairs(self):
        rows = ss.read_matches(self.output).collect()
        return sorted((row["n"], row["subscription_id"], row["subscription_version"], row["batch"]) for row in rows)
