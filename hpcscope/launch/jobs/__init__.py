"""Jobs of a batch system: one run as a job, and one small run for each host or pair of hosts."""
