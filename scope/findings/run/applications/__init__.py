"""Findings about applications."""
