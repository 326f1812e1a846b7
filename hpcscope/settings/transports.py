"""What carries the messages of MPI."""

ACTIVE_MESSAGES = "active-messages"
"""Scope's own provider of libfabric."""
WITHOUT_FLOW_CONTROL = f"{ACTIVE_MESSAGES}.no-flow-control"
"""Transport without credits: receivers that cannot keep up lose frames, which are sent again."""
OF_COMMANDS = ("default", "tcp", ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL)
"""The transports of a command that starts its own ranks."""
