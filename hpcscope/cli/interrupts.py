"""Ctrl-C while the program starts: held back until it can be answered (see bin/scope), and then until imports end.

Inside an import an exception may be swallowed by a callback of the import system, which prints a trace and goes
on, or be mistaken for a missing module. If a destructor swallows the exception, it is raised again.

Python runs a signal's handler in the main thread, between two instructions. If the signal arrives just before that
thread waits, or in another thread, the handler would run only after the wait. So a thread wakes the main one.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

AGAIN_S = 0.02
"""Seconds until Ctrl-C is tried again, in case the import is over, and until the main thread is woken again."""
WAKE = signal.SIGURG
"""The signal that wakes the main thread; programs ignore it by default."""

_came = False
_woken = False


def install() -> None:
    """Answer signals from now on, at once; a command that ignores Ctrl-C goes on ignoring it."""
    with suppress(OSError, RuntimeError):  # files or threads are short: a signal is then answered later, at worst
        signals, arrived = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(signals, True)
        signal.set_wakeup_fd(arrived, warn_on_full_buffer=False)
        signal.signal(WAKE, _wakes)
        _thread.start_new_thread(_wake, (signals, _thread.get_ident()))
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _swallowed
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end() -> None:
    """Let Ctrl-C end the process at once and silently: nothing is left to do but to exit."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def came() -> bool:
    """Return whether there was a Ctrl-C: some libraries turn it into another exception."""
    return _came


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, now or after the import."""
    global _came
    if not _imports(frame):
        _came = True
        raise KeyboardInterrupt
    _thread.start_new_thread(_again, (number,))  # without importing `threading`


def _swallowed(exception: sys.UnraisableHookArgs) -> None:
    """Send Ctrl-C again if a callback that cannot raise, such as a destructor, swallowed it."""
    if issubclass(exception.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_again, (signal.SIGINT,))
    else:
        sys.__unraisablehook__(exception)


def _again(number: int) -> None:
    time.sleep(AGAIN_S)
    os.kill(os.getpid(), number)


def _wake(signals: int, main: int) -> None:
    """After each signal that arrives, interrupt what the main thread waits for until the handlers have run."""
    global _woken
    while number := os.read(signals, 1):
        _woken = number[0] == WAKE
        while not _woken:
            signal.pthread_kill(main, WAKE)
            time.sleep(AGAIN_S)


def _wakes(_number: int, _frame: FrameType | None) -> None:
    """Note that handlers run: the handlers of lower signals ran just before."""
    global _woken
    _woken = True


def _imports(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to an import."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
