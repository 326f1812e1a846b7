"""`scope compare --measure`: two sides, measured interleaved."""
