account=draw=None
