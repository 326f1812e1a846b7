"""The effect of more processes: speedup, serial share, parts of the time."""
