"""A mix of jobs, read from a TOML file such as this.

name = "department"
[[job]]
benchmark = "application.cfd n=64"   # a case of a benchmark,
ranks = 2
weight = 3                           # number of these jobs in every round
[[job]]
name = "waves"
program = "./waves --points 2000"    # or a program of your own; Scope starts its ranks
check = "grep -q converged"          # reads what the program printed
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import Field, ValidationError, model_validator

from hpcscope.errors import UsageError, WrongValueError
from hpcscope.names import NAME
from hpcscope.rundirectory import explain, read_toml
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.kinds import did_you_mean
from hpcscope.strict import Asked, Text, Words
from hpcscope.units import count

MOST_JOBS = 10_000
"""Maximum number of jobs in one round."""


class Job(Asked):
    """A `[[job]]`: what to run, and how often."""

    name: Annotated[str, Field(pattern=f"^{NAME}$")] = ""
    """Name of the job; by default the name of the benchmark or program."""
    benchmark: Text | None = None
    """A case to run as a stand-alone program: `application.cfd n=64`."""
    program: Words = []
    """Instead of `benchmark`: words of a program; a string is split as by a shell."""
    ranks: int = Field(1, ge=1, le=10**7)
    weight: int = Field(1, ge=1, le=1000)
    """Number of jobs of this kind in a round."""
    check: Words = []
    """A command that reads the output of the job and exits with 0 if the output is correct."""
    limit_s: float = Field(3600.0, gt=0, le=30 * 86400)
    """Seconds after which a job is ended and counts as failed."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """Name a job after its benchmark or program by default."""
        if not isinstance(value, dict) or "name" in value:
            return value
        asked = value.get("benchmark") or value.get("program") or ""
        words = asked.split() if isinstance(asked, str) else asked if isinstance(asked, list) else []
        first = words[0].rpartition("/")[2] if words and isinstance(words[0], str) else ""
        return {**value, "name": re.sub(r"[^A-Za-z0-9._-]", "_", first).strip("._-")[:60] or "job"}

    @model_validator(mode="after")
    def _runs_one_thing(self) -> Job:
        if bool(self.benchmark) == bool(self.program):
            raise ValueError(f"{self.name}: benchmark, program: exactly one of them must be given")
        return self

    @property
    def words(self) -> str:
        """The job's name and what it runs, which identify the job in its samples."""
        return f"{self.name}: {self.benchmark or shlex.join(self.program)}"


class Mix(Asked):
    """`mix.toml`; unknown keys are refused."""

    name: str = Field("mix", pattern=f"^{NAME}$")
    rounds: int = Field(6, ge=1, le=10_000)
    """Number of rounds; in each round, every job runs alone once, and all jobs of the mix run concurrently."""
    time_s: float | None = Field(None, gt=0, le=366 * 86400)
    """Time limit; no round starts that would probably exceed it."""
    seed: int | None = Field(None, ge=0, lt=2**31)
    """Seed of the random orders; None means a random seed."""
    folder: Text | None = None
    """Working directory of the jobs; None: the current directory."""
    mpi: Text | None = None
    launcher: LauncherSettings = LauncherSettings()
    job: list[Job] = []

    @model_validator(mode="after")
    def _sensible(self) -> Mix:
        if not self.job:
            raise ValueError("job: missing; must have at least one [[job]]")
        names = [job.name for job in self.job]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"job.name = {twice}: must be the name of one job only")
        if (count := sum(job.weight for job in self.job)) > MOST_JOBS:
            raise ValueError(f"job.weight: {count} jobs in one round: must be at most {MOST_JOBS}")
        return self

    @property
    def words(self) -> str:
        """The jobs of the mix in words."""
        return " + ".join(f"{job.weight} x {job.words} on {count(job.ranks, 'rank')}" for job in self.job)


def read(file: Path, changes: Mapping[str, Any] | None = None) -> Mix:
    """Read a mix and override it with `changes`, in which None leaves a value unchanged.

    Raises a UsageError that names file, key, value and what is allowed.
    """
    given = {key: value for key, value in (changes or {}).items() if value is not None}
    try:
        asked = read_toml(file)
        Mix.model_validate(asked)  # values that an option overrides must be valid, too
        return Mix.model_validate({**asked, **given})
    except ValidationError as error:
        raise UsageError(f"{file}: {_explain(error)}") from error
    except ValueError as error:  # raised by shlex: no closing quotation
        raise UsageError(f"{file}: {error}") from error


def write(mix: Mix) -> str:
    """Return the mix as TOML that `read` can read."""
    return tomli_w.dumps(mix.model_dump(mode="json", exclude_none=True))


def working_folder(mix: Mix, where: str) -> Path:
    """Return the working directory of the jobs; UsageError if it cannot be entered."""
    folder = Path(mix.folder or Path.cwd())
    if not folder.is_dir() or not os.access(folder, os.X_OK):
        raise UsageError(f"{where}: directory = {folder}: must be a directory that can be entered")
    return folder.absolute()


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error" and len(first["loc"]) != 3:
        wrong = first["ctx"]["error"]
        return explain(error) if isinstance(wrong, WrongValueError) else str(wrong)
    if first["type"] == "extra_forbidden":
        known = list((Job if first["loc"][0] == "job" else Mix).model_fields)
        return f"{explain(error)}; allowed are {', '.join(known)}{did_you_mean(str(first['loc'][-1]), known)}"
    return explain(error)
