"""What travels between a node and whoever talks to it: bytes, frames, connections, encryption.

framing.py      the bytes around a frame
frames.py       all kinds of frames (frame.py), node_frames.py those between nodes; what travels inside them is in
                `overlays.wire_events` and `wire_messages`
connection.py   one connection as frames: cutting, batched writes, heartbeats
addresses.py    host and port; tls.py encryption, and calling
"""
