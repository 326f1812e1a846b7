"""The report of a monitored program."""
