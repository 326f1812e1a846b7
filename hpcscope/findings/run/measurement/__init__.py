"""Findings about the measurement itself: whether the numbers can be trusted."""
