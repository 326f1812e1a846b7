"""Tuning of LINPACK: predicted times select the settings to measure, and measured times decide."""
