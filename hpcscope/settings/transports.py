"""What carries MPI messages."""

ACTIVE_MESSAGES = "active-messages"
"""Transport over Scope's own libfabric provider."""
WITHOUT_FLOW_CONTROL = f"{ACTIVE_MESSAGES}.no-flow-control"
"""Transport without credits: receivers that cannot keep up lose frames, which are sent again."""
OF_COMMANDS = ("default", "tcp", ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL)
"""The transports of a command that starts its own ranks."""
