"""The ladder: each layer compared with the layer below, and the limits under it."""
