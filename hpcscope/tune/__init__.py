"""Tuning of LINPACK: predicted times choose which settings are measured, measured times decide."""
