"""Runs that are kept: packed, in a repository, with their history, as a site or behind a server."""
