"""What a simulator needs to know about a cluster, taken from a run."""
