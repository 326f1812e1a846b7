"""Kinds of findings about file systems and files."""
