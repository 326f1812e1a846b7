"""A program that a test has started says where it is, and waits there: an event, where time would be a guess."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S


class Held:
    """Two named pipes in a folder: on one a program says that it is here, on the other it waits."""

    def __init__(self, folder: Path) -> None:
        self.bell, self.door = folder / "bell", folder / "door"
        for pipe in (self.bell, self.door):
            os.mkfifo(pipe)
        # Open for both, so that no program waits for a reader, and none that ends is the end of the pipe.
        self._rung = os.open(self.bell, os.O_RDWR | os.O_NONBLOCK)

    @property
    def words(self) -> str:
        """The words of the shell that ring the bell and wait at the door."""
        return f"echo > {self.bell}; read waited < {self.door}"

    def reached(self, command: subprocess.Popen[str]) -> None:
        """Wait until a program of this command waits at the door."""
        ended = os.pidfd_open(command.pid)
        try:
            ready, _, _ = select.select([self._rung, ended], [], [], PATIENCE_S)
        finally:
            os.close(ended)
        if self._rung not in ready:
            raise TimeoutError("no program came to the door" if ready else f"nobody rang within {PATIENCE_S} s")
        os.read(self._rung, 1)

    def open(self) -> None:
        """Let every program pass that comes from now on."""
        for pipe in (self.bell, self.door):
            pipe.unlink()
            pipe.write_text("\n")
        os.close(self._rung)
