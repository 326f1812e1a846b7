"""A run directory: the names of its files, in one place, and how JSON is written and read safely."""

import hashlib
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from hpcscope.errors import ScopeError, UsageError, WrongValueError
from hpcscope.new_file import new_file
from hpcscope.strict import Strict, Unix

FORMAT = 2
"""Version of the files of a run directory; a reader refuses a higher one."""
FILES = {
    *("run.json", "machine.json", "benchmarks.json", "plan.txt", "samples.jsonl"),
    *("statistics.json", "models.json", "findings.json"),
}
"""Files that only a run directory has."""
CHECKSUMS = "checksums.sha256"
"""The file with the checksums of a run's complete files, for `sha256sum -c`."""
DERIVED = {"statistics.json", "models.json", "findings.json"}
"""Files that `scope analyze` derives."""

T = TypeVar("T")


class Skipped(Strict):
    """A case that was not measured."""

    benchmark: str
    case: str
    """The rest of the case as `plan.txt` would spell it."""
    reason: str
    resource: str = ""
    """The resource that is too scarce: `slots` or `hosts`; empty if there is another reason."""


class Lack(Strict):
    """A resource of which the cluster has less than the minimum configuration."""

    resource: str
    """`hosts`, `slots`, `memory` or `network`."""
    needed: str
    found: str

    @property
    def words(self) -> str:
        """The lack in words: `2 of 4 slots`."""
        return f"{self.found} of {self.needed} {self.resource}"


class Unread(Strict):
    """A line of another program's output that was not understood."""

    file: str
    line: int
    text: str


class ImportedFile(Strict):
    """A file that another program wrote; the run has a copy in `imported/`."""

    name: str
    sha256: str
    programs: list[str]
    """The programs, with versions if they print them: `OSU Micro-Benchmarks 7.4`."""


class Imported(Strict):
    """Where the figures of an imported run come from, and what they lack."""

    files: list[ImportedFile]
    missing: list[str]
    """What the programs do not print: `the number of repetitions`, `the hosts`."""
    differences: list[str] = []
    """How the programs differ from Scope's benchmarks of the same name, as sentences."""
    unread: list[Unread]
    """The first lines that were not understood; all of them are in the copies."""
    unread_lines: int
    """Total number of lines that were not understood."""


class RunFile(Strict):
    """`run.json`."""

    format: int
    scope_version: str
    name: str
    module: str
    command: list[str]
    started_unix_s: Unix
    finished_unix_s: Unix | None
    status: Literal["running", "finished", "interrupted", "failed"]
    skipped: list[Skipped] = []
    lacks: list[Lack] = []
    """What the cluster lacks of the minimum configuration; empty if nothing, and in runs of chosen cases."""
    imported: Imported | None = None
    """The origin of an imported run; None if Scope measured."""
    mix: str = ""
    """The name of the mix of jobs whose throughput was measured; empty in other runs."""
    rounds: int = Field(0, ge=0)
    """Rounds of the mix: those asked for or, in a finished run, those there was time for; 0: not known."""


class Below:
    """An attribute that is the path of a file or folder of this name below the `path` of its object."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: Any, _kind: type) -> Path:
        return Path(folder.path / self.name)


@dataclass(frozen=True)
class RunDirectory:
    """The path of each file of a run; nothing here checks whether it exists."""

    path: Path

    run = Below("run.json")
    """What was asked for, when, and how it ended."""
    experiment = Below("experiment.toml")
    """The resolved experiment."""
    machine = Below("machine.json")
    """The hosts, the MPI and the build."""
    benchmarks = Below("benchmarks.json")
    """The benchmarks as the native program declares them."""
    mix = Below("mix.toml")
    """The jobs whose throughput was measured, with all settings; only in such runs."""
    jobs = Below("jobs")
    """What failed jobs of a mix printed, one folder for each."""
    topology = Below("topology.toml")
    """The groups of hosts and their speeds as they were known; only in runs that were given them."""
    plan = Below("plan.txt")
    """The cases in the order in which they run."""
    samples = Below("samples.jsonl")
    """The raw samples, one line per case and launch."""
    cut_samples = Below("samples.cut.jsonl")
    """Lines of an interrupted run that were cut in the middle; kept, never read."""
    journal = Below("journal.jsonl")
    """One short line per record of the samples, for processes that follow the run; rebuilt from the samples."""
    launches = Below("launches")
    """One folder per launch and attempt."""

    def launch(self, launch: int, attempt: int) -> Path:
        """Return the folder of one attempt of one launch."""
        return self.launches / f"{launch:04d}-{attempt}"

    wrong_data = Below("wrong-data")
    """Minimal programs that call the routines with wrong data, and their output; only in runs with wrong data."""
    imported = Below("imported")
    """The outputs of other programs from which the run was made; only in imported runs."""
    simulation = Below("simulation.json")
    """What was simulated, and the error of such simulations; only in simulated runs."""
    unchanged = Below("unchanged")
    """The same cases on the platform as it was measured; only in runs simulated on a changed one."""
    platform = Below("platform.xml")
    """The platform as the simulator read it; only in simulated runs."""
    job = Below("job")
    """What a batch system was given, and what its jobs printed; only in runs that were submitted."""
    statistics = Below("statistics.json")
    """The summaries."""
    models = Below("models.json")
    """The fits and the ladders."""
    findings = Below("findings.json")
    """What was found, worst first."""
    report = Below("report.html")
    """The report for readers."""


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder that can be seen; a file with several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = Path(parent, name).lstat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def expanded(where: str, path: str) -> Path:
    """Return a path with `~` or `~user` expanded; UsageError if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{where} = {path}: there is no such user") from error


def spelt(path: Path) -> Path:
    """Return the path as a user in this directory would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def write_text(path: Path, text: str) -> None:
    """Put `text` at `path` in one step: a reader sees the old file or the new one, never a part.

    Bytes in file names that are not UTF-8 become escapes, which JSON reads back. Raises as `write_bytes`.
    """
    # A command line may have bytes that are not text; JSON spells them as backslashreplace does.
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step, as `write_text` does.

    A disk that is full or a folder that cannot be written raises ScopeError and leaves the old file. /dev/null, a
    pipe and the like are written to directly: otherwise root would replace them by a file.
    """
    try:
        if path.exists() and not path.is_file():
            # Opening a pipe that nobody reads is an error.
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.set_blocking(handle, True)
            with os.fdopen(handle, "wb") as written:
                written.write(content)
            return
        with new_file(path) as made, made.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_json(path: Path, value: BaseModel | dict[str, Any] | list[Any]) -> None:
    """Write `value` as JSON in one step, an entry per line; non-finite numbers raise ValueError."""
    plain = TypeAdapter(Any).dump_python(value)  # not mode="json", which turns NaN into null
    write_text(path, _lines(plain) + "\n")


def _lines(value: Any, depth: int = 0) -> str:
    """Write each entry of the outer tables and lists on a line of its own; an encoder that indents all is slow."""
    if depth == 2 or not value or not isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    margin = "\n" + " " * depth
    if isinstance(value, dict):
        rows = [
            f"{json.dumps(str(name), ensure_ascii=False)}: {_lines(of, depth + 1)}" for name, of in value.items()
        ]
        return "{" + ",".join(f"{margin} {row}" for row in rows) + margin + "}"
    return "[" + ",".join(f"{margin} {_lines(entry, depth + 1)}" for entry in value) + margin + "]"


def note_checksums(folder: Path, files: Iterable[Path]) -> None:
    """Add the checksums of complete files to those of the folder's other files."""
    sums = _checksums(folder)
    for file in files:
        with opened(file) as content:
            sums[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
    _write_checksums(folder, sums)


def replace_json(path: Path, value: BaseModel) -> None:
    """Write a JSON file that may have a checksum; the checksum is removed during the update, so never wrong."""
    sums = _checksums(path.parent)
    if sums.pop(path.name, None) is not None:
        _write_checksums(path.parent, sums)
    write_json(path, value)
    note_checksums(path.parent, [path])


def _write_checksums(folder: Path, sums: Mapping[str, str]) -> None:
    write_text(folder / CHECKSUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))


def _checksums(folder: Path) -> dict[str, str]:
    """Return the checksums of a folder's files by their names; empty if there are none."""
    try:
        lines = read_bytes(folder / CHECKSUMS).decode("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def refuse_changed(path: Path, file: BufferedReader | BytesIO) -> None:
    """Raise UsageError if a file of a run is not what was written: a flipped bit would change its values."""
    written = _checksums(path.parent).get(path.name)
    if written is None or written == hashlib.file_digest(file, "sha256").hexdigest():
        file.seek(0)
        return
    way_out = (
        f"`scope analyze {path.parent}` derives it again"
        if path.name in DERIVED
        else f"if you changed the file on purpose, remove its line in {CHECKSUMS}"
    )
    raise UsageError(f"{path}: has changed since it was written (its checksum differs); {way_out}")


OWN_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def opened(path: Path) -> BufferedReader:
    """Open a file for reading, or a pipe of this process, such as /dev/stdin; OSError if that fails.

    UsageError for anything else: a pipe in a folder may block forever, a device may never end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind) or (stat.S_ISFIFO(kind) and str(path).startswith(OWN_PIPES)):
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise UsageError(f"{path}: must be a file; is a directory, a pipe or a device")


def read_bytes(path: Path) -> bytes:
    """Read what `opened` opens."""
    with opened(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Read a file of a run; one that is missing, unreadable or changed raises UsageError naming it."""
    try:
        content = read_bytes(path)
        refuse_changed(path, BytesIO(content))
        return content.decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError as error:
        if path.name in FILES and not RunDirectory(path.parent).run.exists():
            raise not_a_run(path.parent) from error
        raise UsageError(f"{path}: does not exist") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start}: not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def not_a_run(path: Path) -> UsageError:
    """Return the error for a path that is not a run directory."""
    why = "is not a run directory: it has no run.json" if path.exists() else "does not exist"
    return UsageError(f"{path}: {why}; must be the directory of a run; `scope runs list` lists them")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; UsageError naming it if it is missing, unreadable or not TOML."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{path}: not TOML: nested too deeply") from error
    except ValueError as error:  # also integers with thousands of digits
        raise UsageError(f"{path}: not TOML: {error}") from error


def read_json(path: Path, kind: type[T]) -> T:
    """Read `path` as `kind`, a pydantic model or any annotated type such as `list[Finding]`.

    Raises UsageError with one line that names file, key, value and what is allowed.
    """
    if path.name in DERIVED and not path.exists() and RunDirectory(path.parent).samples.exists():
        raise UsageError(f"{path}: missing; `scope analyze {path.parent}` derives it from the samples")
    value = _parsed(path)
    number = value.get("format", FORMAT) if isinstance(value, dict) else FORMAT
    refuse_future(str(path), number)
    if number < FORMAT and path.name in FILES:
        raise UsageError(
            f"{path}: format = {number}: must be {FORMAT}; an earlier version of Scope wrote this run"
        )
    try:
        return TypeAdapter(kind).validate_python(value, strict=False)
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from error


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path), parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not JSON: nested too deeply") from error
    except ValueError as error:  # integers with thousands of digits
        raise UsageError(f"{path}: not JSON: {error}") from error


def _finite(text: str) -> float:
    """Return a number from a file; ValueError for NaN, infinite or too large ones, which were never written."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def refuse_future(where: str, number: object) -> None:
    """Raise UsageError if a file has a format that this version cannot read."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= FORMAT:
        raise UsageError(f"{where}: format = {number!r}: this version of Scope reads formats 1 to {FORMAT}")


def explain(error: ValidationError) -> str:
    """Name the first thing that is wrong: `key = value: what is allowed`."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]") or "the whole"
    wrong = first.get("ctx", {}).get("error")
    if isinstance(wrong, WrongValueError):
        return f"{key}{wrong.key} = {shortened(wrong.value)}: {wrong}"
    if first["type"] == "missing":
        return f"{key}: missing"
    if first["type"] == "extra_forbidden":
        return f"{key} = {shortened(first['input'])}: this key is not known"
    return f"{key} = {shortened(first['input'])}: {_lower_first(must(first['msg']))}"


def must(message: str) -> str:
    """Return a message of pydantic, such as "Input should be ...", in the words of all others: "must be ..."."""
    return re.sub(r"^(Input|String|Value|List|Tuple) should", "must", message.removeprefix("Value error, "))


def shortened(value: object) -> str:
    """Return a value as a message quotes it: as JSON of at most 60 characters."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
