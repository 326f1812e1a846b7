"""Reads `samples.jsonl`: a last line that was cut and damaged lines are named, and all other lines are used."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from hpcscope.catalog.catalog import Catalog
from hpcscope.checksum import check
from hpcscope.errors import UsageError
from hpcscope.plan.case import Batch, Case
from hpcscope.plan.plan import Launch, Plan
from hpcscope.plan.plan import read as read_plan
from hpcscope.rundirectory import RunDirectory, RunFile, explain, read_bytes, read_json, refuse_future
from hpcscope.samples.records import (
    CaseRecord,
    EndRecord,
    JobRecord,
    LaunchRecord,
    Origin,
    PrintedRecord,
    Record,
    RoundRecord,
    SentinelRecord,
)
from hpcscope.samples.samples import CaseSamples, CutLine, DamagedLine, PrintedFigure, Samples, SamplesKey, join

AnyRecord = LaunchRecord | CaseRecord | SentinelRecord | EndRecord | PrintedRecord | JobRecord | RoundRecord
_RECORD: TypeAdapter[AnyRecord] = TypeAdapter(Record)


def read(run_directory: Path, catalog: Catalog, plan: Plan | None = None) -> Samples:
    """Read the samples of a run; join each case to its launch; the catalog labels the cases.

    `plan`: the plan, if it is already known.

    Lines are damaged if their checksum is wrong, if they do not match `records.py`, if a case has an unknown
    launch or an undeclared benchmark, or if a round of a mix has jobs without lines. Raises UsageError naming
    file, line, key, value and what is allowed for a future format, and if all lines are damaged.
    """
    run = RunDirectory(run_directory)
    read_json(run.run, RunFile)
    launches: dict[tuple[int, int], LaunchRecord] = {}
    ends: list[EndRecord] = []
    sentinels: list[SentinelRecord] = []
    cases: list[CaseSamples] = []
    printed: list[PrintedFigure] = []
    jobs: list[JobRecord] = []
    rounds: dict[int, RoundRecord] = {}
    cut_line = None
    damaged: list[DamagedLine] = []
    plan = plan or (read_plan(run.plan) if run.plan.exists() else None)
    planned = {launch.number: launch for launch in plan.launches} if plan else {}
    for number, line, ended in _lines(run.samples):
        try:
            record = _parse(f"{run.samples}:{number}", line, may_be_cut=not ended)
            if record is None:
                cut_line = CutLine(number, len(line), line[:60].decode("utf-8", "replace"))
            elif isinstance(record, LaunchRecord):
                launches[record.launch, record.attempt] = record
            elif isinstance(record, EndRecord):
                ends.append(record)
            elif isinstance(record, SentinelRecord):
                sentinels.append(record)
            elif isinstance(record, PrintedRecord):
                printed.append(_labelled(record, catalog))
            elif isinstance(record, JobRecord):
                jobs.append(record)
            elif isinstance(record, RoundRecord):
                rounds[number] = record
            else:
                cases.append(_join(record, launches, planned, catalog))
        except ValueError as error:  # also pydantic's ValidationError
            reason = explain(error) if isinstance(error, ValidationError) else str(error)
            damaged.append(DamagedLine(number, reason))
    incomplete = _incomplete(rounds, jobs)
    damaged += incomplete
    if damaged and not launches and not cases and not printed and not jobs:
        raise UsageError(f"{run.samples}:{damaged[0].line}: {damaged[0].reason}")
    return Samples(
        launches=list(launches.values()),
        ends=ends,
        cases=_last_that_was_ok(cases),
        failures=[case for case in cases if not case.ok],
        sentinels=sentinels,
        printed=printed,
        jobs=jobs,
        rounds=[
            round_record
            for line, round_record in rounds.items()
            if line not in {damaged_line.line for damaged_line in incomplete}
        ],
        cut_line=cut_line,
        damaged=damaged,
    )


def _incomplete(rounds: Mapping[int, RoundRecord], jobs: Sequence[JobRecord]) -> list[DamagedLine]:
    """Return the rounds, by their line numbers, whose number of jobs differs from the number that they declare."""
    counts = Counter(job.round for job in jobs)
    return [
        DamagedLine(line, f"round {record.round}: found lines for {counts[record.round]} of {record.jobs} jobs")
        for line, record in rounds.items()
        if record.jobs != counts[record.round]
    ]


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the number and content of each line that is not blank, and whether it has a line end."""
    try:
        content = read_bytes(path)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: does not exist; no case of the run has a record") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    lines = content.split(b"\n")
    for index, line in enumerate(lines):
        if line.strip():
            yield index + 1, line, index < len(lines) - 1


def _parse(where: str, line: bytes, may_be_cut: bool) -> AnyRecord | None:
    """Validate one line; None if it was cut.

    Raises ValueError with the reason, UsageError for a future format.
    """
    try:
        check(line)
        return _RECORD.validate_json(line)
    except ValueError:  # also pydantic's ValidationError
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as not_json:
            if may_be_cut:
                return None
            raise ValueError(f"a line before the last one is not JSON: {not_json}") from not_json
        # A future format may have other keys: its number is the reason to report, not the key.
        if isinstance(raw, dict) and "format" in raw:
            refuse_future(where, raw["format"])
        raise


def _join(
    record: CaseRecord, launches: dict[tuple[int, int], LaunchRecord], planned: dict[int, Launch], catalog: Catalog
) -> CaseSamples:
    launch = launches.get((record.launch, record.attempt))
    batch, origin = _batch(record, launch, launches, planned)
    try:
        return join(record, launch, batch, origin, catalog)
    except ValueError as error:
        raise ValueError(f"{record.benchmark}: {error}") from error


def _labelled(record: PrintedRecord, catalog: Catalog) -> PrintedFigure:
    """Return a printed value with its case; raises ValueError if the benchmark or the metric is not declared."""
    if catalog.metric(record.benchmark, record.metric) is None:
        known = ", ".join(metric.name for metric in catalog[record.benchmark].metrics)
        raise ValueError(f"{record.benchmark}: metric = {record.metric}: must be one of {known}")
    batch = record.ranks, record.transport, record.placement
    return PrintedFigure(Case.of(catalog, record.benchmark, record.parameters, batch), record)


def _batch(
    record: CaseRecord,
    launch: LaunchRecord | None,
    launches: dict[tuple[int, int], LaunchRecord],
    planned: dict[int, Launch],
) -> tuple[Batch, Origin]:
    """Return the batch and origin of a case, from the plan if its launch ended before it wrote a line."""
    if launch is not None:
        return (record.ranks, launch.transport, launch.placement), launch.origin
    if record.status == "ok":
        raise ValueError(
            f"launch = {record.launch}, attempt = {record.attempt}: "
            "must be a launch that has its own line before its cases"
        )
    origin: Origin = next((other.origin for other in launches.values()), "measured")
    for (number, _), other in launches.items():
        if number == record.launch:
            return (record.ranks, other.transport, other.placement), origin
    if record.launch in planned:
        died = planned[record.launch]  # before it wrote a line
        return (record.ranks, died.transport, died.placement), origin
    raise ValueError(f"launch = {record.launch}: neither the samples nor the plan has this launch")


def _last_that_was_ok(cases: list[CaseSamples]) -> list[CaseSamples]:
    """Keep one record of each visit: the last attempt that was ok, else the last attempt."""
    kept: dict[tuple[int, int, SamplesKey], CaseSamples] = {}
    for case in cases:
        key = case.launch, case.position, case.key
        if case.ok or key not in kept or not kept[key].ok:
            kept[key] = case
    return list(kept.values())
