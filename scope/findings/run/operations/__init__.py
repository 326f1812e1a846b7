"""Findings about operations of a program: what its messages cost beyond the ping-pong."""
