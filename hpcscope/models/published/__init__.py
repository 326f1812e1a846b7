"""Published experiments compared with runs of Scope."""
