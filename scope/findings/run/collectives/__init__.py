"""Findings about collective operations."""
