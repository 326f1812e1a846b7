"""Cost models fitted to summaries, and the ladder that compares each layer with the layer below it."""
