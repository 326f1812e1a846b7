"""Predictions from measured lower levels, with their errors."""
