"""Models of computation on one rank or node."""
