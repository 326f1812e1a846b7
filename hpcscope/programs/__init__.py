"""User programs: profiles from the monitor, campaigns of many runs, and the throughput of a mix."""
