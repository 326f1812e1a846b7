"""What a process removes when it ends, and no copy of it does."""

import atexit
import os
from collections.abc import Callable
from functools import partial


def at_own_exit(action: Callable[[], object]) -> Callable[[], None]:
    """Act when this process ends, not when a process ends that was forked from it.

    Returns what `atexit.unregister` takes once nothing is left to do.
    """
    registered = partial(_act, os.getpid(), action)
    atexit.register(registered)
    return registered


def _act(owner: int, action: Callable[[], object]) -> None:
    if os.getpid() == owner:
        action()
