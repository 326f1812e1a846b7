"""How Scope starts its own Python again: as separate from variables of the environment as this process is."""

import sys


def own_python(*words: str) -> list[str]:
    """Return the command that runs words, such as `-m` and a module, in this interpreter."""
    return [sys.executable, *(["-I"] if sys.flags.isolated else []), *words]
