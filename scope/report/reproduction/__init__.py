"""Published experiments beside ours, for people."""
