"""Nodes in processes of their own whose disk takes its time: `python -m tests.live.slow_disk serve …`."""

import sys
import time

from siftcast.interfaces.cli import main
from siftcast.runtimes.live.storage.store import Group, Store

COMMIT_S = 0.1
_commit = Store._commit


def commit_slowly(store: Store, group: Group) -> str | None:
    time.sleep(COMMIT_S)
    return _commit(store, group)


if __name__ == "__main__":
    Store._commit = commit_slowly  # type: ignore[method-assign]
    sys.exit(main(sys.argv[1:]))
