"""What a simulator needs to know of a cluster, taken from a run."""
