"""How the hosts of a cluster are joined: found by measuring, kept in a file, used to foretell shared transfers."""
