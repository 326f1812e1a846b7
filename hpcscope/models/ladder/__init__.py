"""The ladder: each layer against the layer below, and the limits under it."""
