"""What a node keeps on disk.

store.py            keys and bytes in SQLite, written in groups by a thread of its own; memory_store.py for tests
file.py, tail.py    its two files; marks.py how they are known to be whole
salvage.py          what is intact after damage (sqlite_pages.py reads without SQLite); rescue.py puts it in place
spill.py            deliveries that wait for a slow consumer
audit_file.py       lines that are only added, in files of a certain length
private_files.py    folders and files that only their owner reads
"""
