"""The MPI implementations: how to recognize each and what differs between them, one file per family."""
