"""Profiles of monitored programs: one file per process, read, merged and analyzed without MPI."""

PROFILES = "profiles"
"""The directory of profiles inside the directory of a monitored run."""
