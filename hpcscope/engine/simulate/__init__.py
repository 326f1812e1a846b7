"""`scope simulate`: a run again, in a simulator."""
