"""Findings about operations of a program: the cost of its messages beyond the ping-pong."""
