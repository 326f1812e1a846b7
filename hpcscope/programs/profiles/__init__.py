"""Profiles of monitored programs: one file per process, read, merged and explained without any MPI."""
