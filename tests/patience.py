"""How long a test waits for what it has started."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 1800
"""Ends only what would never end: no test judges time, and a busy machine takes minutes for seconds of work."""


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for what another process or thread does, where no pipe tells of it; `what` is for the error."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end_s:
            raise TimeoutError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)
