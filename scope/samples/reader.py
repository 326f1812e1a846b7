"""Reads `samples.jsonl`: tolerant of a last line that was cut, strict about everything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from scope.errors import UsageError
from scope.plan.plan import read as read_plan
from scope.rundirectory import Run, RunDirectory, explain, read_json, refuse_future
from scope.samples.records import CaseRecord, EndRecord, LaunchRecord, Origin, Record
from scope.samples.samples import CaseSamples, CutLine, Samples, join

_RECORD: TypeAdapter[LaunchRecord | CaseRecord | EndRecord] = TypeAdapter(Record)

Place = tuple[str, str, Origin]
"""Transport, placement and origin of a launch."""


def read(run_directory: Path) -> Samples:
    """Read the samples of a run and join each case to the launch in which it ran.

    Raises UsageError with one line that names file, line, key, value and what is allowed: for a record that is
    not as `records.py` says, for a future format, and for a case whose launch nobody knows.
    """
    run = RunDirectory(run_directory)
    read_json(run.run, Run)
    launches: dict[tuple[int, int], LaunchRecord] = {}
    ends: list[EndRecord] = []
    cases: list[CaseSamples] = []
    cut_line = None
    planned = _planned_places(run.plan)
    for number, line, ended in _lines(run.samples):
        where = f"{run.samples}:{number}"
        record = _parse(where, line, may_be_cut=not ended)
        if record is None:
            cut_line = CutLine(number, len(line), line[:60].decode("utf-8", "replace"))
        elif isinstance(record, LaunchRecord):
            refuse_future(where, record.format)
            launches[record.launch, record.attempt] = record
        elif isinstance(record, EndRecord):
            ends.append(record)
        else:
            cases.append(_join(where, record, launches, planned))
    return Samples(
        launches=list(launches.values()),
        ends=ends,
        cases=_last_that_was_ok(cases),
        failures=[case for case in cases if not case.ok],
        cut_line=cut_line,
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield number, content and whether the line has an end, of all lines that are not blank."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: does not exist; a run directory has one once a case has run") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    lines = content.split(b"\n")
    for index, line in enumerate(lines):
        if line.strip():
            yield index + 1, line, index < len(lines) - 1


def _parse(where: str, line: bytes, may_be_cut: bool) -> LaunchRecord | CaseRecord | EndRecord | None:
    """Validate one line; None when it was cut."""
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        try:
            raw = json.loads(line)
        except ValueError as not_json:
            if may_be_cut:
                return None
            raise UsageError(f"{where}: not JSON, and not the last line: {not_json}") from not_json
        # A future format may know other keys; its number is the reason to tell, not the key.
        if isinstance(raw, dict) and "format" in raw:
            refuse_future(where, raw["format"])
        raise UsageError(f"{where}: {explain(error)}") from error


def _planned_places(plan: Path) -> dict[int, tuple[str, str]]:
    """Return transport and placement of each launch as planned, for launches that died before they said so."""
    if not plan.exists():
        return {}
    return {launch.number: (launch.transport, launch.placement) for launch in read_plan(plan).launches}


def _join(
    where: str,
    record: CaseRecord,
    launches: dict[tuple[int, int], LaunchRecord],
    planned: dict[int, tuple[str, str]],
) -> CaseSamples:
    launch = launches.get((record.launch, record.attempt))
    try:
        return join(record, launch, _place(where, record, launch, launches, planned))
    except ValueError as error:
        raise UsageError(f"{where}: {record.benchmark}: {error}") from error


def _place(
    where: str,
    record: CaseRecord,
    launch: LaunchRecord | None,
    launches: dict[tuple[int, int], LaunchRecord],
    planned: dict[int, tuple[str, str]],
) -> Place:
    """Say where the case ran; one that was ended before its launch wrote a line is placed as planned."""
    if launch is not None:
        return launch.transport, launch.placement, launch.origin
    if record.status == "ok":
        raise UsageError(
            f"{where}: launch = {record.launch}, attempt = {record.attempt}: "
            "must be a launch that has its own line before its cases"
        )
    origin: Origin = next((other.origin for other in launches.values()), "measured")
    for (number, _), other in launches.items():
        if number == record.launch:
            return other.transport, other.placement, origin
    if record.launch in planned:
        return *planned[record.launch], origin
    raise UsageError(f"{where}: launch = {record.launch}: neither the samples nor the plan knows this launch")


def _last_that_was_ok(cases: list[CaseSamples]) -> list[CaseSamples]:
    """Keep one of each case and launch: the last attempt that was ok, else the last."""
    kept: dict[tuple[object, ...], CaseSamples] = {}
    for case in cases:
        key = (case.launch, *case.identity)
        if case.ok or key not in kept or not kept[key].ok:
            kept[key] = case
    return list(kept.values())
