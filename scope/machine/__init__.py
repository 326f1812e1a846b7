"""What this cluster is: hosts, processors, caches, memory, links, kernel."""
