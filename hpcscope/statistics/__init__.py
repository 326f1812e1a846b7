"""Summaries of samples: pure functions over arrays, each citing its source."""
