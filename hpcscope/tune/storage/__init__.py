"""The search for the fastest way to write or read files: predictions, a few trials, a record."""
