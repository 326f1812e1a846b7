"""The site of a repository: pages and pieces of data, which a browser loads from a folder without a server."""
