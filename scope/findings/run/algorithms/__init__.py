"""Findings about parallel algorithms."""
