"""Where protocols run: `sim` under a clock of its own, `live` over sockets. Neither knows the other."""
