"""A launch under watch: time limits, restarts, resuming, and who was where when it ended."""
