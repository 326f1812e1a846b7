"""Models of messages and collectives."""
