"""The effect of more processes: speed-up, serial share, parts of the time."""
