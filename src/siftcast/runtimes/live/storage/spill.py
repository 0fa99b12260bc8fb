"""Deliveries that wait on disk for a slow consumer: first in, first out, with a limit.

The file has no name (it is unlinked at once), so nothing is left behind by a crash; it is not a promise beyond one.
What the disk alters is noticed by the client, by the checksums of the frames; where a length is altered, this end
cannot tell frames apart any more, and what follows is not sent.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from siftcast.runtimes.live.errors import DamagedFrame
from siftcast.runtimes.live.storage.private_files import make_folder
from siftcast.runtimes.live.wire.framing import HEADER_BYTES, size_in


class Spill:
    """A queue of bytes in a file."""

    def __init__(self, folder: Path, bytes_max: int) -> None:
        make_folder(folder)
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # open until `close`
        self._bytes_max = bytes_max
        self._start = 0
        self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    def put(self, data: bytes) -> bool:
        """Appends whole frames; False if the limit or the disk does not allow it, and then nothing is kept of them."""
        if len(self) + len(data) > self._bytes_max:
            return False
        try:
            self._file.seek(self._end)
            written = self._file.write(data)
        except OSError:
            return False
        if written != len(data):
            return False
        self._end += len(data)
        return True

    def take(self, bytes_max: int) -> bytes:
        """The oldest whole frames, about so many bytes and at least one frame: other frames may be sent in between."""
        self._file.seek(self._start)
        data: bytes = self._file.read(min(max(bytes_max, HEADER_BYTES), len(self)))
        end = 0
        while len(data) - end >= HEADER_BYTES:
            try:
                stop = end + HEADER_BYTES + size_in(data[end : end + HEADER_BYTES])
            except DamagedFrame:  # the header alone has the client notice, and end the connection
                end += HEADER_BYTES
                self._start = self._end - end
                break
            if stop > len(data):
                if end:
                    break
                data += self._file.read(stop - len(data))
            end = stop
        self._start += end
        if self._start == self._end:
            self._start = self._end = 0
            self._file.truncate(0)
        return data[:end]

    def close(self) -> None:
        """Gives the room back."""
        self._file.close()
