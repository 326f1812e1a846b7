"""Actions at the end of a process, but not at the end of its forked copies."""

import atexit
import os
from collections.abc import Callable
from functools import partial


def at_own_exit(action: Callable[[], object]) -> Callable[[], None]:
    """Register an action for the end of this process, not of processes forked from it.

    Returns the function to give to `atexit.unregister` once nothing is left to do.
    """
    registered = partial(_act, os.getpid(), action)
    atexit.register(registered)
    return registered


def _act(owner: int, action: Callable[[], object]) -> None:
    if os.getpid() == owner:
        action()
