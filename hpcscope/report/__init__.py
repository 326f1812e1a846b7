"""Reports: one self-contained HTML file from a run directory, and the same results on a terminal."""
