"""Runs made from the output of other benchmarks."""

import hashlib
import math
import platform
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.catalog import write as write_catalog
from hpcscope.catalog.declared import declared
from hpcscope.checksum import with_checksum
from hpcscope.engine import profile
from hpcscope.engine.analysis import explain
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.errors import UsageError, naming
from hpcscope.exchange import imports
from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.lines import TextLine, decoded, lines
from hpcscope.machine.machine import Machine
from hpcscope.programs.profiles import mpip
from hpcscope.rundirectory import (
    FORMAT,
    Imported,
    ImportedFile,
    RunDirectory,
    RunFile,
    Unread,
    note_checksums,
    read_bytes,
    write_json,
    write_text,
)
from hpcscope.samples.records import PrintedRecord
from hpcscope.version import VERSION

LARGEST_BYTES = 256 << 20
KEPT_LINES = 200
"""Most lines kept that were not understood: a job's output may have millions of them."""
MOST_VALUES = 200_000
"""Most values of one import: each takes 9 kB of memory until the report is written."""
KEPT_CHARACTERS = 200
_CASE = {"benchmark", "parameters", "ranks", "transport", "placement", "origin", "metric", "definition"}
"""The fields that values of several launches have in common."""
PROFILES = {"mpip": mpip}
"""Formats of monitored programs."""


@dataclass(frozen=True)
class Output:
    """A file, and what each format that claims it reads from it."""

    name: str
    content: bytes
    lines: list[TextLine]
    readings: list[Reading]

    @property
    def figures(self) -> list[PrintedFigure]:
        """The values in the order in which they were printed."""
        return sorted(filter(_is_possible, self._printed), key=lambda printed: printed.line)

    @property
    def _printed(self) -> list[PrintedFigure]:
        return [printed for reading in self.readings for printed in reading.figures]

    @property
    def unread(self) -> list[TextLine]:
        """The lines that no format understood, except those without letters or digits, such as rulers."""
        understood = {number for reading in self.readings for number in reading.understood}
        understood |= {printed.line for printed in self.figures}
        understood -= {printed.line for printed in self._printed if not _is_possible(printed)}
        left = (line for line in self.lines if line.number not in understood)
        return [line for line in left if any(letter.isalnum() for letter in line.text)]


def _is_possible(printed: PrintedFigure) -> bool:
    """Return whether a program can have measured a value: a damaged line may contain impossible ones."""
    counts = [count for count in (printed.ranks, printed.repetitions) if count is not None]
    return all(map(math.isfinite, [*printed.values, *printed.beside.values()])) and all(
        count > 0 for count in counts
    )


def names() -> list[str]:
    """Return the names of all formats."""
    return sorted([*imports.names(), *PROFILES])


def imported(format_: str | None, files: Sequence[Path], ranks: int | None, output: Path | None) -> Path:
    """Make a run from the outputs of other programs, derive everything from it, and return its folder.

    `format_`: of all files; None detects it from their contents. `ranks`: for values whose program does not print
    its number of ranks. Raises UsageError for a file without values, or in an unknown format.
    """
    if format_ is not None and format_ not in names():
        raise UsageError(f"{format_}: unknown format; must be one of {', '.join(names())}")
    if reports := [file for file in files if format_ in PROFILES or (format_ is None and _is_profile(file))]:
        if len(files) > 1:
            raise UsageError(f"{reports[0]}: is a profile; must be imported alone")
        return profile.import_profile(reports[0], output)
    outputs = [_read(file, format_) for file in files]
    held = sum(len(output.figures) for output in outputs)
    if held > MOST_VALUES:
        together = f"{len(files)} files hold" if len(files) > 1 else f"{files[0]}: holds"
        raise UsageError(f"{together} {held} values, but at most {MOST_VALUES} are allowed: import them in parts")
    foreign = [benchmark for each in outputs for reading in each.readings for benchmark in reading.benchmarks]
    catalog = Catalog([*declared(), *imports.merged(foreign)])
    records = list(_records(outputs, catalog, ranks))
    directory = new_directory("import", output)
    _write(directory, outputs, catalog, records)
    explain(directory.path)
    make_latest(directory)
    return directory.path


def _is_profile(file: Path) -> bool:
    """Return whether a file is named like a profile, or begins like one."""
    return file.suffix == mpip.SUFFIX or (file.is_file() and _content(file).lstrip().startswith(mpip.TITLE))


def _read(file: Path, format_: str | None) -> Output:
    """Read a file by the format, else by all that claim it."""
    content = _content(file)
    all_lines = lines(decoded(str(file), content))
    formats = [imports.format_of(name) for name in ([format_] if format_ else imports.names())]
    readings: list[Reading] = []
    refusals: list[UsageError] = []
    try:
        for reader in formats:
            try:
                if reader.claims(all_lines) or format_:
                    readings.append(imports.read(reader, all_lines))
            except UsageError as refusal:
                refusals.append(refusal)
    except (ValueError, ArithmeticError) as error:  # a number with thousands of digits
        raise UsageError(f"{file}: cannot be understood: {error}") from error
    if refusals and not any(reading.figures for reading in readings):
        raise UsageError(f"{file}: {refusals[0]}") from refusals[0]
    result = Output(file.name, content, all_lines, readings)
    if not all_lines:
        raise UsageError(f"{file}: is empty; must be the output of a benchmark")
    if not readings:
        known = ", ".join(names())
        raise UsageError(f"{file}: unknown format; must be one of {known}")
    if not result.figures:
        if refused := [what for reading in readings for what in reading.refused]:
            raise UsageError(f"{file}: {refused[0]}")
        programs = " or ".join(reading.program for reading in readings)
        said = next((line for line in all_lines if any(map(str.isalnum, line.text))), all_lines[0])
        raise UsageError(
            f"{file}: holds no value of {programs}; line {said.number} is: {said.text.strip()[:KEPT_CHARACTERS]}"
        )
    return result


def _content(file: Path) -> bytes:
    with naming(file, "cannot be read", UsageError):
        if file.is_file() and file.stat().st_size > LARGEST_BYTES:
            raise UsageError(f"{file}: has {file.stat().st_size} bytes; must have at most {LARGEST_BYTES}")
        return read_bytes(file)


def _records(outputs: Iterable[Output], catalog: Catalog, ranks: int | None) -> Iterable[PrintedRecord]:
    """Yield the lines of `samples.jsonl`; a case that is printed again counts as a further launch."""
    launches: Counter[str] = Counter()
    for output in outputs:
        for printed in output.figures:
            where = f"{output.name}:{printed.line}"
            record = _record(output.name, where, printed, catalog, ranks)
            case = record.model_dump_json(include=_CASE)
            yield record.model_copy(update={"launch": launches[case]})
            launches[case] += 1


def _record(file: str, where: str, printed: PrintedFigure, catalog: Catalog, ranks: int | None) -> PrintedRecord:
    benchmark = catalog[printed.benchmark]
    metric = benchmark.metric[printed.metric]
    known = printed.ranks or ranks
    if known is None:
        raise UsageError(f"{where}: {benchmark.title}: does not print the number of ranks; give it with --ranks")
    # A parameter that a program does not vary has the declared default: what a plain program does.
    parameters = {**catalog.defaults(printed.benchmark), **printed.parameters}
    if unknown := sorted(set(parameters) - set(benchmark.parameter)):
        raise UsageError(
            f"{where}: {printed.benchmark}: has no parameter {unknown[0]}; the native program has another version"
        )
    definition = "observed" if metric.quantity == "observed" else printed.definition or metric.definition
    changed = {"parameters": parameters, "ranks": known, "definition": definition, "values": list(printed.values)}
    return PrintedRecord(record="printed", launch=0, file=file, **{**vars(printed), **changed})


def _write(
    directory: RunDirectory, outputs: Sequence[Output], catalog: Catalog, records: Sequence[PrintedRecord]
) -> None:
    readings = [reading for output in outputs for reading in output.readings]
    unread = [
        Unread(file=output.name, line=line.number, text=line.text[:KEPT_CHARACTERS])
        for output in outputs
        for line in output.unread
    ]
    started = [reading.started_unix_s for reading in readings if reading.started_unix_s is not None]
    now_s = time.time()
    directory.imported.mkdir()
    write_catalog(directory.benchmarks, catalog)
    # Nothing is known about the machine.
    python = platform.python_version()
    machine = Machine(format=FORMAT, hosts=[], build=None, environment={}, python=python, scope_version=VERSION)
    write_json(directory.machine, machine)
    written = [with_checksum(record.model_dump_json(exclude={"crc32"}).encode()) for record in records]
    write_text(directory.samples, "".join(f"{line.decode()}\n" for line in written))
    for number, one in enumerate(outputs, 1):
        (directory.imported / f"{number:04d}-{_safe(one.name)}").write_bytes(one.content)
    write_json(
        directory.run,
        RunFile(
            format=FORMAT,
            scope_version=VERSION,
            name=directory.path.name,
            module="",
            command=[],
            started_unix_s=min(started, default=now_s),
            finished_unix_s=now_s,
            status="finished",
            imported=Imported(
                files=[
                    ImportedFile(
                        name=output.name,
                        sha256=hashlib.sha256(output.content).hexdigest(),
                        programs=[reading.program for reading in output.readings],
                    )
                    for output in outputs
                ],
                missing=_missing(readings, records),
                differences=list(
                    dict.fromkeys(
                        what for reading in readings for what in [*reading.refused, *reading.differences]
                    )
                ),
                unread=unread[:KEPT_LINES],
                unread_lines=len(unread),
            ),
        ),
    )
    note_checksums(directory.path, [directory.run, directory.machine, directory.benchmarks])


def _missing(readings: Sequence[Reading], records: Sequence[PrintedRecord]) -> list[str]:
    """Return what the outputs do not say, each once."""
    found = [] if all(record.statistic == "each" for record in records) else ["single repetitions"]
    found += [] if all(reading.hosts for reading in readings) else ["the hosts"]
    found += [] if all(reading.started_unix_s is not None for reading in readings) else ["the time of the run"]
    return list(dict.fromkeys([*found, *(what for reading in readings for what in reading.missing)]))


def _safe(name: str) -> str:
    """Return a file's name without anything that a terminal or a shell would take for something else."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)[-100:]
