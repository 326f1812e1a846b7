"""How Scope starts its own Python again: as isolated from environment variables as this process is."""

import sys


def own_python(*words: str) -> list[str]:
    """Return the command that runs this interpreter with arguments, such as `-m` and a module."""
    return [sys.executable, *(["-I"] if sys.flags.isolated else []), *words]
