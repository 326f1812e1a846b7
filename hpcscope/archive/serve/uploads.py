"""Uploaded runs: limited in size, checked like any file from elsewhere, and held until someone adds them."""

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
"""Maximum number of runs that wait for review."""


class FullError(ScopeError):
    """An upload is too large, or too many runs wait."""


@dataclass(frozen=True)
class Upload:
    """A run that arrives in pieces."""

    folder: Path
    file: BinaryIO
    temporary: Path

    @classmethod
    def begin(cls, folder: Path) -> Upload:
        """Return an empty upload in a directory private to this user; FullError if too many runs wait there."""
        private_folder(folder)
        if sum(1 for path in folder.iterdir() if path.suffix == packing.SUFFIX) >= MOST_WAITING:
            raise FullError(f"{MOST_WAITING} runs wait for review; no more are accepted")
        handle, name = tempfile.mkstemp(prefix=".upload-", suffix=packing.SUFFIX, dir=folder)
        return cls(folder, os.fdopen(handle, "wb"), Path(name))

    def add(self, content: bytes) -> None:
        """Append a piece; FullError if the file becomes too large."""
        if self.file.tell() + len(content) > MOST_BYTES:
            raise FullError(f"a packed run must have at most {MOST_BYTES >> 20} MiB")
        self.file.write(content)

    def accept(self) -> Path:
        """Check the run, store it under its id and return its file; UsageError if it is not a complete run."""
        self.file.close()
        with packing.opened(self.temporary, MOST_UNPACKED_BYTES) as folder:
            run = Run(folder)
            if run.record.status == "running":
                raise UsageError("the run has not ended")
            _ = run.machine, run.statistics, run.raw_samples  # everything that a repository and its pages read
            target = self.folder / f"{identity(RunDirectory(folder))}{packing.SUFFIX}"
        self.temporary.replace(target)
        return target

    def drop(self) -> None:
        """Remove the received data, unless it was accepted."""
        with suppress(OSError):
            self.file.close()
        self.temporary.unlink(missing_ok=True)
