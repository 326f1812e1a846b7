"""Health of a whole cluster: each node compared with its peers, its counters, and facts in which nodes differ."""
