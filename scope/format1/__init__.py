"""Run directories of format 1, which Scope wrote up to version 0.1: raw files are upgraded when read."""
