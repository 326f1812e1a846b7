"""Runs that are kept: one file for each, notes beside it, and an index that can be made anew from both."""
