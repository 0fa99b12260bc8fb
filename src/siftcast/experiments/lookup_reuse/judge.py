judge=None
