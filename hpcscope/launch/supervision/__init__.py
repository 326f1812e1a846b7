"""Supervision of a launch: time limits, restarts, resuming, and where each rank was when it ended."""
