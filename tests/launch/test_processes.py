"""Waiting for a process without asking for it again and again."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from hpcscope.launch import processes
from tests.patience import PATIENCE_S


def test_the_end_of_a_process_ends_the_wait() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        processes.await_end(process, 0.0)
        assert process.poll() is None, "the time is over, the process is not"
        assert process.stdin is not None
        process.stdin.close()
        processes.await_end(process, PATIENCE_S)
        assert process.poll() == 0


def test_an_old_kernel_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    slept: list[float] = []
    monkeypatch.setattr(processes.os, "pidfd_open", unknown)
    monkeypatch.setattr(processes.time, "sleep", slept.append)
    with subprocess.Popen(["true"]) as process:
        processes.await_end(process, 60.0)
        processes.await_end(process, 0.01)
    assert slept == [processes.NO_PIDFD_S, 0.01]


def test_a_long_wait_looks_for_signals_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal just before a wait is handled when the wait returns: it must not last until the process ends."""
    waits: list[float] = []

    def interrupted(_process: object, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(processes, "await_end", interrupted)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        with pytest.raises(KeyboardInterrupt):
            processes.has_ended(process)
        assert max(waits) <= 1.0
        assert not processes.has_ended(process, 0.0)
