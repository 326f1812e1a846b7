"""The page of a topology."""
