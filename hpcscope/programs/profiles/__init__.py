"""Profiles of monitored programs: one file per process, read, merged and explained without any MPI."""

PROFILES = "profiles"
"""The directory of the processes' files in the directory of a monitored run."""
