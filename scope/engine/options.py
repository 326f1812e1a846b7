"""Options of a run. None leaves the value of the experiment's file, else the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from scope import units
from scope.errors import UsageError
from scope.launch.supervision.supervisor import Limits
from scope.plan import sweep
from scope.plan.experiment import Experiment, resolve

COMMAND_LINE = "the command line"
"""The source named in messages where no file was given."""
LONGEST_LIMIT_S = 1e6


@dataclass(frozen=True)
class LauncherOptions:
    """Where ranks are started and how: keys of the table `[launcher]`."""

    kind: str | None = None
    hosts: Sequence[str] | None = None
    """`name` or `name:slots`."""
    hostfile: str | None = None
    ranks_per_host: int | None = None
    binding: str | None = None
    mpiexec: str | None = None
    remote_shell: str | None = None
    interface: str | None = None
    topology: str | None = None
    storage: str | None = None
    """The folder in which storage is measured."""
    arguments: Sequence[str] | None = None
    oversubscribe: bool | None = None


@dataclass(frozen=True)
class JobOptions:
    """The requests of a batch job: further keys of the table `[launcher]`."""

    scheduler: str | None = None
    partition: str | None = None
    account: str | None = None
    parallel_environment: str | None = None
    nodes: int | None = None
    nodelist: Sequence[str] | None = None
    exclusive: bool | None = None
    time_limit_s: float | None = None
    time_margin_s: float | None = None
    scheduler_arguments: Sequence[str] | None = None


@dataclass(frozen=True)
class SamplingOptions:
    """When a case has been sampled enough: keys of the table `[sampling]`."""

    precision: float | None = None
    """Target half width of the 95 % interval of the median, relative to the median."""
    budget_s: float | None = None


@dataclass(frozen=True)
class RunOptions:
    """Everything that `scope run` takes."""

    experiment: Path | None = None
    """A TOML file, or an HPL.dat."""
    only: Sequence[str] | None = None
    """Benchmarks: mpi.latency, mpi.* or mpi."""
    module: str | None = None
    case: Sequence[str] | None = None
    """Each written as `mpi.latency message_bytes=0,1Ki mode=standard`."""
    ranks: Sequence[int | str] | None = None
    transport: Sequence[str] | None = None
    """What carries MPI messages where the cases do not say so."""
    by: str | None = None
    """`node-type`: each sub-cluster of equal hosts by itself, too."""
    refine: bool | None = None
    launches: int | None = None
    time_s: float | None = None
    seed: int | None = None
    name: str | None = None
    mpi: str | None = None
    sampling: SamplingOptions = SamplingOptions()
    launcher: LauncherOptions = LauncherOptions()
    job: JobOptions = JobOptions()
    case_limit_s: float | None = None
    """Seconds after which a case is ended."""
    output: Path | None = None
    """The run directory; None: a new one below runs/."""
    command: Sequence[str] = field(default=(), compare=False)
    """The command line, for the record."""

    @property
    def where(self) -> str:
        """The source named in messages: the experiment's file, else the command line."""
        return str(self.experiment or COMMAND_LINE)

    @property
    def limits(self) -> Limits:
        """The time limits of a launch; UsageError where the limit of a case is not possible."""
        return Limits(case_s=None if self.case_limit_s is None else case_limit(self.case_limit_s))

    def keys(self) -> dict[str, Any]:
        """Return the given settings by their dotted keys, such as `launcher.binding`."""
        keys: dict[str, Any] = {
            "module": self.module,
            "case": [selection(text) for text in self.case] if self.case else None,
            "ranks": [_count(each) for each in self.ranks] if self.ranks else None,
            "transport": list(self.transport) if self.transport else None,
            "by": self.by,
            "refine": self.refine or None,
            "launches": self.launches,
            "time_s": self.time_s,
            "seed": self.seed,
            "name": self.name,
            "mpi": self.mpi,
            "only": list(self.only) if self.only else None,
            **_dotted("sampling", self.sampling),
            **_dotted("launcher", self.launcher),
            **_dotted("launcher", self.job),
        }
        return {key: value for key, value in keys.items() if value is not None}

    def given(self, with_job: bool = True) -> list[str]:
        """Return the names of the given settings; a run that is resumed keeps its own."""
        of_job = set() if with_job else set(_dotted("launcher", self.job))
        named = [key for key in self.keys() if key not in of_job]
        return [*named, *(["output"] if self.output else []), *(["experiment"] if self.experiment else [])]

    def resolved(self) -> Experiment:
        """Return the experiment: the file's, with these options over it. Raises UsageError for a wrong value."""
        return resolve(self.experiment, self.keys())


def launcher_keys(options: LauncherOptions | JobOptions) -> dict[str, Any]:
    """Return the given settings by their dotted keys."""
    return _dotted("launcher", options)


def experiment_and_patterns(what: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Tell the experiment's file from patterns of benchmarks; UsageError where there is more than one file."""
    files = [word for word in what if word.endswith((".toml", ".dat"))]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: must be one experiment at a time, besides {files[0]}")
    return Path(files[0]) if files else None, [word for word in what if word not in files]


def selection(text: str) -> dict[str, Any]:
    """Read a case such as `mpi.latency message_bytes=0,1Ki`; UsageError for a word that is no `key=value`."""
    benchmark, _, rest = text.strip().partition(" ")
    return {"benchmark": benchmark, **sweep.parse(rest, f"--case '{text}'")}


def refuse_settings(resumed: Path, given: Sequence[str]) -> None:
    """Raise UsageError when a setting is given beside --resume."""
    if given:
        raise UsageError(f"--resume {resumed}: the run keeps its settings; {given[0]} must not be given beside it")


def _count(text: int | str) -> int | str:
    """Return the integer that a text says; any other text as it is, for the experiment to refuse."""
    try:
        return units.whole(str(text))
    except ValueError:
        return text


def _dotted(table: str, options: object) -> dict[str, Any]:
    given = {each.name: getattr(options, each.name) for each in fields(options)}  # type: ignore[arg-type]
    return {
        f"{table}.{name}": list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for name, value in given.items()
        if value is not None
    }


def case_limit(limit_s: float) -> float:
    """Return the seconds after which a case is ended; UsageError where they are not possible."""
    if not 0 < limit_s < LONGEST_LIMIT_S:
        raise UsageError(f"--case-limit {limit_s:g}: must be more than 0 seconds and less than 1000000")
    return limit_s
