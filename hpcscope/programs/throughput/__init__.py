"""The throughput of a mix of applications that run side by side on a cluster."""
