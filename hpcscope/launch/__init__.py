"""Starting the native program and staying with it until it ends."""
