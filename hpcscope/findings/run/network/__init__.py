"""Findings about links, pairs of hosts and layers of the network."""
