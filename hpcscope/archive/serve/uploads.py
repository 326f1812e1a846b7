"""Runs that people send: bounded, checked like any file from elsewhere, and put aside until somebody adds them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hpcscope.archive import packing
from hpcscope.archive.entry import identity
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.private import private_folder
from hpcscope.rundirectory import RunDirectory

MOST_BYTES = 128 << 20
MOST_UNPACKED_BYTES = 1 << 30
MOST_WAITING = 100
"""Runs that wait for somebody to look at them."""


class FullError(ScopeError):
    """No more is taken: too large, or too many wait."""


@dataclass(frozen=True)
class Upload:
    """A run that comes in pieces."""

    folder: Path
    file: BinaryIO
    temporary: Path

    @classmethod
    def begin(cls, folder: Path) -> Upload:
        """Return an empty upload to a folder of this user alone; FullError where too many wait there."""
        private_folder(folder)
        if sum(1 for path in folder.iterdir() if path.suffix == packing.SUFFIX) >= MOST_WAITING:
            raise FullError(f"{MOST_WAITING} runs wait for review; no more are accepted")
        handle, name = tempfile.mkstemp(prefix=".upload-", suffix=packing.SUFFIX, dir=folder)
        return cls(folder, os.fdopen(handle, "wb"), Path(name))

    def add(self, content: bytes) -> None:
        """Take a piece; FullError where the file becomes too large."""
        if self.file.tell() + len(content) > MOST_BYTES:
            raise FullError(f"a packed run must have at most {MOST_BYTES >> 20} MiB")
        self.file.write(content)

    def accept(self) -> Path:
        """Check the run and put it aside under its id; return its file. UsageError for what is no whole run."""
        self.file.close()
        with packing.opened(self.temporary, MOST_UNPACKED_BYTES) as folder:
            run = Run(folder)
            if run.record.status == "running":
                raise UsageError("the run has not ended")
            _ = run.machine, run.statistics, run.raw_samples  # what a repository and its pages read
            target = self.folder / f"{identity(RunDirectory(folder))}{packing.SUFFIX}"
        self.temporary.replace(target)
        return target

    def drop(self) -> None:
        """Remove what came, unless it was accepted."""
        with suppress(OSError):
            self.file.close()
        self.temporary.unlink(missing_ok=True)
