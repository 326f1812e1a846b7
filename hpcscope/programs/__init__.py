"""Programs of users: profiles under the monitor, campaigns of many runs, and the throughput of a mix."""
