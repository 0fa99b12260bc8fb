"""What the tests of files and of the command line share."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file into the scratch folder: bytes, text, or objects as JSON lines."""

    def write(name: str, content: bytes | str | Iterable[dict[str, Any]]) -> Path:
        if isinstance(content, str):
            content = content.encode()
        elif not isinstance(content, bytes):
            content = "".join(json.dumps(each) + "\n" for each in content).encode()
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write
