"""How long a test waits for what it has started."""

PATIENCE_S = 600
"""Ends only what would never end: no test judges time, and a busy machine needs a minute for seconds of work."""
