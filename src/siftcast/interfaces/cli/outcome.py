"""Exit statuses, the same for every command."""

OK = 0
REJECTED = 1  # finished, but some of the input could not be used (or, where asked for, the answer is no)
FAILED = 2  # a mistake of the user's, or a file that cannot be read or written
DEFECT = 3  # a mistake of ours
INTERRUPTED = 130  # Ctrl-C, as shells have it: 128 plus the signal's number
