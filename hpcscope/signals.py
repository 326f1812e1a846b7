"""Requests to stop: SIGTERM and a closed terminal end a run as Ctrl-C does."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Handler = Callable[[int, Any], object]
"""Receives the number of a signal, and the frame that it interrupted."""


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Handle signals in these ways while the context lasts."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def as_interrupt(*numbers: signal.Signals) -> AbstractContextManager[None]:
    """Raise KeyboardInterrupt on these signals while the context lasts."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    return handled(dict.fromkeys(numbers, interrupt))


def leave_alone(_number: int, _frame: object) -> None:
    """Ignore a signal that a command receives, too. Not SIG_IGN, which the command would inherit."""


@contextmanager
def held(number: signal.Signals) -> Iterator[Callable[[], None]]:
    """Hold a signal back, and yield a function that releases it; a held signal is delivered then or at the end.

    In threads other than the main one, which get no signals, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came: list[int] = []
    before = signal.signal(number, lambda number, _frame: came.append(number))

    def release() -> None:
        signal.signal(number, before)
        if came:
            signal.raise_signal(came.pop())

    try:
        yield release
    finally:
        release()


STOP_RUN = (signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a run that measures here."""
STOP_WAITING = (signal.SIGTERM,)
"""Signals that stop waiting for a batch job; a closed terminal leaves the job in its queue."""
