"""The schemes, one a file or folder; each file opens with how the scheme works and what it costs."""
