"""Tuning: which settings of LINPACK are worth a try on this machine, and what the tries say."""
