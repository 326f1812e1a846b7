"""`samples.jsonl` as the supervisor sees it: which cases have their record, and the lines that it adds itself.

Only the few keys that supervision needs are read; the samples room reads the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from scope.errors import ScopeError, UsageError
from scope.plan.budget import Seen
from scope.plan.plan import identity

FAILURES = {"failed", "timeout", "crashed"}


@dataclass
class Journal:
    """What the records say so far; `read` takes in what was added since."""

    path: Path
    cut: Path
    """Where half a line goes that an interrupted run left at the end."""
    statuses: dict[tuple[int, int], str] = field(default_factory=dict)
    """Of each case by (launch, position)."""
    opened: dict[tuple[int, int], str] = field(default_factory=dict)
    """Transport and placement of each (launch, attempt) that wrote its launch line."""
    ended: set[tuple[int, int]] = field(default_factory=set)
    """(launch, attempt) that wrote its end line."""
    seen: dict[str, Seen] = field(default_factory=dict)
    """What each case's launches said so far, by `identity`."""
    spent_s: float = 0.0
    """Time of all cases together."""
    fatal: dict[str, str] = field(default_factory=dict)
    """Cases that ended a started launch, by `identity`, and how."""
    _offset: int = 0
    _line: int = 0

    def read(self) -> bool:
        """Take in complete new lines; return whether there were any."""
        try:
            if self.path.stat().st_size == self._offset:
                return False
        except FileNotFoundError:
            return False
        with self.path.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._line += 1
            if line.strip():
                self._take(line)
        self._offset += len(whole)
        return bool(whole)

    def mend(self) -> None:
        """Move half a line at the end to `cut`; nothing is lost, and the next line begins on a line of its own."""
        if not self.path.exists():
            return
        with writing(self.path) as file:
            text = file.read()
            keep = text.rfind(b"\n") + 1
            if keep == len(text):
                return
            with writing(self.cut) as cut:
                cut.seek(0, os.SEEK_END)
                cut.write(text[keep:] + b"\n")
            file.truncate(keep)

    def append(self, record: dict[str, Any]) -> None:
        """Add one line and take it in; raises ScopeError naming the file when the disk is full."""
        with writing(self.path) as file:
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        self.read()

    @property
    def failed(self) -> bool:
        """Whether a case failed, crashed or did not end."""
        return any(status in FAILURES for status in self.statuses.values())

    def _take(self, line: bytes) -> None:
        where = f"{self.path}:{self._line}"
        try:
            record = json.loads(line)
            key = (int(record["launch"]), int(record["attempt"]))
            kind = record["record"]
            if kind == "launch":
                self.opened[key] = f"{record['transport']} {record['placement']}"
            elif kind == "end":
                self.ended.add(key)
            else:
                self.statuses[key[0], int(record["position"])] = str(record["status"])
                self.spent_s += float(record.get("duration_s", 0.0))
                circumstances = self.opened.get(key, "")
                case = identity(record["benchmark"], record["parameters"], record["ranks"], circumstances)
                if record["status"] in ("timeout", "crashed") and circumstances:
                    self.fatal[case] = f"{record['status']} in launch {key[0]}"
                elif record["status"] == "ok" and record.get("series"):
                    _take_in(record, self.seen.setdefault(case, Seen()))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{where}: {line[:60]!r}: is no record; remove the line or start a new run"
            ) from error


def _take_in(record: Mapping[str, Any], seen: Seen) -> None:
    seen.durations_s.append(float(record["duration_s"]))
    seen.tight = record["stopped"] != "budget"
    seen.relative_interval = record.get("relative_interval")
    series = record["series"][0]
    if series["elapsed_s"] and series["elapsed_s"][0]:
        seen.medians_s.append(median(series["elapsed_s"][0]) / series["operations"])


class writing:  # noqa: N801 - reads as a verb: with writing(path) as file
    """A file open for reading and writing, made when absent, flushed to the disk; a full disk is a ScopeError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        try:
            self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        except OSError as error:
            raise unwritable(self.path, error) from error
        return self._file

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as failure:
            raise unwritable(self.path, failure) from failure


def unwritable(path: Path | str, error: OSError) -> ScopeError:
    """Return the error of a file that cannot be written."""
    return ScopeError(f"{path}: cannot be written: {error.strerror or error}")
