"""Published experiments beside ours."""
