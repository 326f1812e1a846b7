"""The site of a repository: pages and pieces of data that a browser can load from a directory without a server."""
