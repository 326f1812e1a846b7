"""Curves, least squares and the choice among models."""
