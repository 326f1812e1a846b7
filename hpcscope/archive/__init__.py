"""Archived runs: packed, in a repository, with their history, as a site or on a web server."""
