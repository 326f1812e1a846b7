"""Requests to stop: SIGTERM and a closed terminal end a run as Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_interrupt(*numbers: signal.Signals) -> Iterator[None]:
    """Raise KeyboardInterrupt on these signals while the context lasts."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


STOP_RUN = (signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a run that measures here."""
STOP_WAITING = (signal.SIGTERM,)
"""Signals that stop waiting for a batch job; a closed terminal leaves the job in its queue."""
