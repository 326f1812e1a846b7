"""Models of computation in one process or node."""
