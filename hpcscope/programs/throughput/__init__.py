"""Throughput of a mix of applications that run concurrently on a cluster."""
