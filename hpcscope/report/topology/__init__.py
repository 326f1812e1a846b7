"""The report of a topology."""
