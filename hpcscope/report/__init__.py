"""One self-contained page from a run directory, and the same on a terminal."""
