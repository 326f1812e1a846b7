"""The cases of a run and the order in which they run."""
