"""Starting the native program and supervising it until it ends."""
