"""Findings about point-to-point messages of the MPI library."""
