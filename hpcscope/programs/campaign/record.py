"""The records of runs: one line of `runs.jsonl` per run, appended and flushed when the run ends."""

import json
import os
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from hpcscope.checksum import check, with_checksum
from hpcscope.errors import UsageError, naming
from hpcscope.programs.campaign.features import Routine
from hpcscope.programs.campaign.study import Planned, Point
from hpcscope.rundirectory import explain, read_bytes, read_text
from hpcscope.strict import Unix

Status = Literal["ok", "failed", "wrong", "timeout"]
"""Status of a run; `wrong`: the run succeeded, but the study's check rejected its output."""


class RunRecord(Planned):
    """A run that has ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status
    reason: str = ""
    exit_code: int | None = None
    """Exit code, or 128 plus the number of the signal that ended the run; None if it timed out."""
    oversubscribed: bool = False
    """Whether there were more ranks than processors; such times include descheduling and are not used for laws."""
    started_unix_s: Unix
    elapsed_s: float
    """Elapsed time of the whole command, launcher included."""
    user_s: float
    """CPU time in user mode of the command and all its descendants on this host."""
    system_s: float
    features: dict[str, float] = Field({})
    """Features from the profiles (`hpcscope.programs.campaign.features`); empty without profiles."""
    routines: dict[str, Routine] = Field({})
    crc32: int | None = Field(None, ge=0, lt=2**32)
    """Checksum of everything before it (hpcscope/checksum.py); None after reading, and in earlier campaigns."""

    @property
    def point(self) -> Point:
        """Configuration of the run."""
        return Point(
            parameters=self.parameters, ranks=self.ranks, placement=self.placement, transport=self.transport
        )


class CampaignJournal:
    """The records of a campaign."""

    def __init__(self, path: Path) -> None:
        """Read the records; an incomplete last line is removed, and its run will be repeated."""
        self.path = path
        self.records = read(path)
        if path.exists():
            whole = read_bytes(path).rpartition(b"\n")
            if whole[2]:
                os.truncate(path, len(whole[0]) + len(whole[1]))

    def add(self, record: RunRecord) -> None:
        """Write a record and flush it to disk."""
        with naming(self.path), self.path.open("a", encoding="utf-8") as file:
            line = json.dumps(record.model_dump(exclude={"crc32"}), allow_nan=False, separators=(",", ":"))
            file.write(with_checksum(line.encode()).decode() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)


def read(path: Path) -> list[RunRecord]:
    """Return the complete records of a file, sorted by start of the run; empty without a file."""
    if not path.exists():
        return []
    records = []
    for number, line in enumerate(read_text(path).splitlines(keepends=True), 1):
        if not line.endswith("\n"):
            break
        try:
            check(line.encode())
            records.append(RunRecord.model_validate_json(line).model_copy(update={"crc32": None}))
        except ValidationError as error:
            raise UsageError(f"{path}:{number}: {explain(error)}") from error
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from error
    return sorted(records, key=lambda record: record.started_unix_s)
