"""Findings: where performance is lost, why, and what to do. One file per kind, found by walking the packages."""
