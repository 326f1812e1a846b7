"""The MPI implementations: what tells one from another and what differs between them, one file per family."""
