"""`python -m siftcast`: the same as the `siftcast` command, for environments whose scripts are not on the path."""

import sys

from siftcast.interfaces.cli import main

sys.exit(main())
