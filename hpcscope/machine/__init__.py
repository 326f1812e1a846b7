"""The cluster: hosts, processors, caches, memory, links, kernel."""
