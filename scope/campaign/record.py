"""What is known of runs that were done: one line of `runs.jsonl` each, appended and flushed when it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from scope.campaign.features import Routine
from scope.campaign.study import Planned, Point
from scope.errors import ScopeError, UsageError
from scope.rundirectory import explain, read_text

Status = Literal["ok", "failed", "wrong", "timeout"]
"""Wrong: it ended well, but the study's check refused what it printed."""


class RunRecord(Planned):
    """One run that has ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status
    reason: str = ""
    exit_code: int | None = None
    """128 + the signal's number where one ended it; None where it was ended for its time."""
    crowded: bool = False
    """More processes than processors: its times are those of waiting for one, and no point of a law."""
    started_unix_s: float
    elapsed_s: float
    """Of the whole command, launcher included."""
    user_s: float
    """Processors' time of the command and all processes below it on this host."""
    system_s: float
    features: dict[str, float] = Field({})
    """From the profiles: see `scope.campaign.features`; empty where there are none."""
    routines: dict[str, Routine] = Field({})

    @property
    def point(self) -> Point:
        """What was chosen."""
        return Point(
            parameters=self.parameters, ranks=self.ranks, placement=self.placement, transport=self.transport
        )


class Journal:
    """The records of a folder."""

    def __init__(self, path: Path) -> None:
        """Take the records that are there; a last line that was cut is removed, its run will be done again."""
        self.path = path
        self.records = read(path)
        if path.exists():
            whole = path.read_bytes().rpartition(b"\n")
            if whole[2]:
                os.truncate(path, len(whole[0]) + len(whole[1]))

    def add(self, record: RunRecord) -> None:
        """Write one down; it is on disk when this returns."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record.model_dump(), allow_nan=False, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ScopeError(f"{self.path}: cannot be written: {error.strerror}") from error
        self.records.append(record)


def read(path: Path) -> list[RunRecord]:
    """Return the complete records of a file in the order of the runs; none where there is no file."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(read_text(path).splitlines(keepends=True), 1):
        if not line.endswith("\n"):
            break
        try:
            found.append(RunRecord.model_validate_json(line))
        except ValidationError as error:
            raise UsageError(f"{path}:{number}: {explain(error)}") from error
    return found
