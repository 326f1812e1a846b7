"""How the hosts of a cluster are connected: measured, kept in a file, used to predict concurrent transfers."""
