"""The page of a monitored program."""
