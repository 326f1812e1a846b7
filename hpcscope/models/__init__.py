"""Cost models fitted to summaries, and the ladder that holds each layer against the one below."""
