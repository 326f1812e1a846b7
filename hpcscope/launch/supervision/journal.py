"""The journal of a run: one short line for each launch, case and end, read while cases are measured.

The native program appends a line to `journal.jsonl` once the record in `samples.jsonl` is on the disk, and so
does the supervisor for its own records. The samples are the truth: the journal is rebuilt from them when a run is
resumed, and completed from them after a launch that did not end by itself.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcscope.checksum import check, with_checksum
from hpcscope.errors import ScopeError, UsageError
from hpcscope.plan.case import Key, key
from hpcscope.plan.placement import Placement
from hpcscope.plan.seen import Seen, SeenVisit
from hpcscope.rundirectory import RunDirectory, opened
from hpcscope.samples.records import CaseRecord

FAILURES = {"failed", "timeout", "crashed"}
CASE_KEYS = ("launch", "attempt", "position", "benchmark", "parameters", "ranks", "status")


@dataclass
class Journal:
    """What the records say so far; `read` adds the lines that were written since."""

    run: RunDirectory
    statuses: dict[tuple[int, int], str] = field(default_factory=dict)
    """Status of each visit, by (launch, position)."""
    opened: dict[tuple[int, int], tuple[str, Placement]] = field(default_factory=dict)
    """Transport and placement of each (launch, attempt) that wrote its launch record."""
    ended: set[tuple[int, int]] = field(default_factory=set)
    """(launch, attempt) that wrote its end record."""
    seen: dict[Key, Seen] = field(default_factory=dict)
    """Results of each case in the launches so far."""
    sentinels: list[tuple[int, float]] = field(default_factory=list)
    """Launch and duration in s of each measurement of the sentinel, in order."""
    spent_s: float = 0.0
    """Time of all cases and of the sentinel together."""
    fatal: dict[Key, str] = field(default_factory=dict)
    """Cases that ended a started launch, and how."""
    hangs: Counter[str] = field(default_factory=Counter)
    """How often a case of each benchmark did not end."""
    _offset: int = 0

    @classmethod
    def rebuilt(cls, run: RunDirectory) -> Journal:
        """Return the journal of a run, rewritten from its samples; their incomplete last line is moved away."""
        journal = cls(run)
        mend(run.samples, run.cut_samples)
        lines = [_line(entry) for entry in _entries(run.samples)]
        with writing(run.journal) as file:
            file.truncate(0)
            file.write(b"".join(lines))
        journal.read()
        return journal

    @classmethod
    def read_only(cls, run: RunDirectory) -> Journal:
        """Return the journal of a run without writing anything; from its samples if it has no journal."""
        journal = cls(run)
        if run.journal.exists():
            journal.read()
        elif run.samples.exists():
            for entry in _entries(run.samples):
                journal._take(entry)
        return journal

    def read(self) -> bool:
        """Read complete new lines; return whether there were any."""
        try:
            if self.run.journal.stat().st_size == self._offset:
                return False
        except FileNotFoundError:
            return False
        with opened(self.run.journal) as file:
            file.seek(self._offset)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._take(_parsed(self.run.journal, line))
        return bool(whole)

    def complete(self, samples_bytes: int) -> None:
        """Add the records after the first `samples_bytes` that a killed launch did not enter into the journal.

        An incomplete last line of the samples is moved to `samples.cut.jsonl`; one of the journal is removed.
        """
        mend(self.run.samples, self.run.cut_samples)
        mend(self.run.journal, None)
        self.read()
        for entry in _entries(self.run.samples, samples_bytes):
            if not self._knows(entry):
                _append(self.run.journal, _line(entry))
        self.read()

    def append(self, record: CaseRecord) -> None:
        """Add a record to the samples and the journal; ScopeError names the file when the disk is full."""
        line = record.model_dump(mode="json", exclude_unset=True)
        _append(self.run.samples, with_checksum(_line(line).rstrip(b"\n")) + b"\n")
        _append(self.run.journal, _line(_entry(line)))
        self.read()

    @property
    def failed(self) -> bool:
        """Whether a case failed, crashed or did not end."""
        return any(status in FAILURES for status in self.statuses.values())

    def _knows(self, entry: Mapping[str, Any]) -> bool:
        attempt = (entry["launch"], entry["attempt"])
        if entry["record"] == "sentinel":
            return True  # nothing depends on it
        if entry["record"] == "launch":
            return attempt in self.opened
        return (
            attempt in self.ended
            if entry["record"] == "end"
            else ((entry["launch"], entry["position"]) in self.statuses)
        )

    def _take(self, entry: Mapping[str, Any]) -> None:
        try:
            attempt = (int(entry["launch"]), int(entry["attempt"]))
            if entry["record"] == "launch":
                self.opened[attempt] = (str(entry["transport"]), Placement.parse(entry["placement"]))
            elif entry["record"] == "end":
                self.ended.add(attempt)
            elif entry["record"] == "sentinel":
                self.sentinels.append((attempt[0], float(entry["duration_s"])))
                self.spent_s += float(entry["duration_s"])
            else:
                self._take_case(attempt, entry)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(self.run.journal, json.dumps(entry, default=str)) from error

    def _take_case(self, attempt: tuple[int, int], entry: Mapping[str, Any]) -> None:
        status = str(entry["status"])
        self.statuses[attempt[0], int(entry["position"])] = status
        self.spent_s += float(entry.get("duration_s") or 0.0)
        self.hangs[str(entry["benchmark"])] += status == "timeout"
        if attempt not in self.opened:
            return
        case = key(entry["benchmark"], entry["parameters"], (int(entry["ranks"]), *self.opened[attempt]))
        if status in ("timeout", "crashed"):
            self.fatal[case] = f"{status} in launch {attempt[0]}"
        elif status == "ok" and entry.get("stopped"):
            median_s = entry.get("median_s")
            self.seen.setdefault(case, Seen()).visits[attempt[0]] = SeenVisit(
                duration_s=float(entry["duration_s"]),
                median_s=None if median_s is None else float(median_s),
                warmup=int(entry["warmup"]),
            )


def _entries(samples: Path, offset: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the journal entries of the complete records of a file of samples, starting at an offset.

    Damaged lines are left out, so that their cases are measured again.
    """
    if not samples.exists():
        return
    with opened(samples) as file:
        file.seek(offset)
        for line in file:
            if line.endswith(b"\n") and line.strip():
                with suppress(ValueError, KeyError, TypeError, IndexError, UsageError):
                    check(line)
                    yield _entry(_parsed(samples, line))


def _entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the journal entry of a record of the samples."""
    attempt = {"record": record["record"], "launch": record["launch"], "attempt": record["attempt"]}
    if record["record"] == "launch":
        return attempt | {"transport": record["transport"], "placement": record["placement"]}
    if record["record"] == "end":
        return attempt
    if record["record"] == "sentinel":
        return attempt | {"duration_s": record["duration_s"]}
    return {
        "record": "case",
        **{name: record[name] for name in CASE_KEYS},
        "stopped": record.get("stopped"),
        "duration_s": record.get("duration_s"),
        "median_s": record.get("median_s"),
        "warmup": series[0]["warmup"] if (series := record.get("series")) else 0,
    }


def _parsed(path: Path, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise _damaged(path, line.decode(errors="replace")) from error
    if not isinstance(record, dict) or record.get("record") not in ("launch", "case", "sentinel", "end"):
        raise _damaged(path, line.decode(errors="replace"))
    return record


def _damaged(path: Path, line: str) -> UsageError:
    return UsageError(f"{path}: {line[:60]!r}: is not a record; remove the line or start a new run")


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    with writing(path) as file:
        file.seek(0, os.SEEK_END)
        file.write(line)


def mend(path: Path, cut: Path | None) -> None:
    """Remove an incomplete last line from a file, and keep it in `cut`."""
    if not path.exists():
        return
    with writing(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        if file.read() in (b"", b"\n"):
            return
        file.seek(0)
        text = file.read()
        keep = text.rfind(b"\n") + 1
        if cut is not None:
            _append(cut, text[keep:] + b"\n")
        file.truncate(keep)


@contextmanager
def writing(path: Path) -> Iterator[Any]:
    """Open a file for reading and writing, made when absent, flushed to the disk; a full disk is a ScopeError."""
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            try:
                yield file
            finally:
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path | str, error: OSError) -> ScopeError:
    """Return the error of a file that cannot be written."""
    return ScopeError(f"{path}: cannot be written: {error.strerror or error}")
