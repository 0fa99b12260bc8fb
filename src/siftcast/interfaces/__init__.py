"""Where people and programs meet Siftcast: the command line (`cli`), and later a web page.

The outermost room. It reads what users hand in, calls the rooms below, and shows the results; it holds no algorithm.
Clocks, terminals and exit codes exist here and nowhere below.
"""
