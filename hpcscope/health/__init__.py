"""Health of a whole cluster: each node beside its peers, its counters, and the facts in which nodes differ."""
