"""An experiment, from a TOML file, the command line or both."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from scope.catalog.benchmark import Module
from scope.errors import UsageError
from scope.names import NAME, Argument, Text
from scope.plan import hpl
from scope.rundirectory import must, read_toml, shortened
from scope.strict import Asked

Binding = Literal["core", "socket", "none"]
WORD = r"^[\w.@:+-]+$"
NODES = r"^[\w.,\[\]-]+$"
"""A name, or several as Slurm abbreviates them: node[1-3,7]."""
LINE = r"^[^\n\r\x00]+$"
MOST_RANKS = 10**7


class Sampling(Asked):
    """When a case has been sampled enough."""

    precision: float = Field(0.02, gt=0, lt=1)
    """Target half width of the 95 % interval of the median, over the median."""
    budget_s: float | None = Field(None, gt=0, le=3600)
    """Seconds per case and launch; None: what shows the warm-up in the first launch, then a few milliseconds."""
    minimum_repetitions: int | None = Field(None, ge=1, le=10**7)
    maximum_repetitions: int | None = Field(None, ge=1, le=10**7)
    synchronization: Literal["window", "dissemination"] | None = None
    """How processes start together; None leaves it to the native program."""


class LauncherSettings(Asked):
    """How processes are started."""

    kind: Literal["mpiexec", "slurm"] = "mpiexec"
    """The MPI's own mpiexec, or Slurm's srun."""
    hosts: list[Text] = []
    """`name` or `name:slots`; empty means the hosts of the job that a scheduler granted, else this host."""
    hostfile: Text | None = None
    """A file with one host per line, instead of `hosts`."""
    ranks_per_host: int | None = Field(None, ge=1, le=4096)
    binding: Binding = "core"
    mpiexec: Text | None = None
    """Path of mpiexec where it is not beside the compiler, or of srun where it is not on PATH."""
    remote_shell: Text | None = None
    """The program that is used instead of ssh."""
    interface: Text | None = None
    """The network interface that carries the messages."""
    topology: Text | None = None
    """The file of groups and speeds that `transport=collectives` uses."""
    storage: Text | None = None
    """The folder in which storage is measured; None: $SCOPE_STORAGE, else the folder of the run directory."""
    arguments: list[Argument] = []
    """Further arguments of mpiexec or srun, as they stand."""
    oversubscribe: bool = False
    """Allow more ranks than slots, by default one for each usable core."""
    scheduler: Literal["slurm", "gridengine", "pbs", "lsf"] = "slurm"
    """The batch system; this and the following keys are requests of the job script."""
    partition: str | None = Field(None, pattern=WORD)
    """The queue, where the scheduler calls it so."""
    account: str | None = Field(None, pattern=WORD)
    """The project, where the scheduler calls it so."""
    parallel_environment: str | None = Field(None, pattern=WORD)
    """Of a Grid Engine job with several slots; its allocation rule must be the ranks per host."""
    nodes: int | None = Field(None, ge=1, le=100000)
    """None asks for those of `nodelist`, else for one."""
    nodelist: list[Annotated[str, Field(pattern=NODES)]] = []
    exclusive: bool = True
    """Exclusive use of the nodes."""
    time_limit_s: float | None = Field(None, ge=60, le=30 * 86400)
    """When the scheduler ends the job; None leaves it to the queue."""
    time_margin_s: float = Field(30.0, ge=5, le=86400)
    """How long before the end of its job a run stops by itself."""
    scheduler_arguments: list[Annotated[str, Field(pattern=LINE)]] = []
    """Further directives of the batch script, as they stand."""


def _words_or_integers(value: Any) -> Any:
    """Return the values of a factor; raises ValueError for others than words and integers."""
    several = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool) or not isinstance(each, int | str) for each in several):
        raise ValueError("must be an integer, a word, or a list of them")
    return value


class Selection(BaseModel):
    """One `[[case]]`: a benchmark and the values of its factors; their product is run."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, Annotated[Any, AfterValidator(_words_or_integers)]]

    benchmark: str

    @property
    def factors(self) -> dict[str, list[str]]:
        """Every other key with its values as text."""
        given = self.model_extra or {}
        return {
            key: [str(each) for each in value] if isinstance(value, list) else [str(value)]
            for key, value in given.items()
        }


class Experiment(Asked):
    """`experiment.toml`."""

    name: str | None = Field(None, pattern=f"^{NAME}$")
    """Of the run and, where no folder is asked for, in that of its folder."""
    module: Module = "baseline"
    seed: int | None = Field(None, ge=0, lt=2**31)
    """Of the shuffles; None draws one."""
    launches: int | None = Field(None, ge=1, le=1000)
    """How often each case is started anew; None: 6 times, and more often where its interval is wide."""
    time_s: float | None = Field(None, gt=0, le=30 * 86400)
    """Seconds after which no further launches begin; None takes the module's."""
    mpi: Text | None = None
    only: list[Text] = []
    """Patterns of benchmark names; empty means all of the module, a full name needs no module."""
    ranks: list[Annotated[int, Field(ge=1, le=MOST_RANKS)]] = []
    """Numbers of ranks instead of those of the module's sweeps."""
    by: Literal["node-type"] | None = None
    """`node-type`: every case on each sub-cluster of equal hosts by itself, and on all hosts."""
    transport: list[Text] = []
    """What carries MPI messages in sweeps and cases that do not say so; empty: what the library chooses."""
    refine: bool = False
    """Look again between two message sizes where a curve breaks."""
    sampling: Sampling = Sampling()
    launcher: LauncherSettings = LauncherSettings()
    case: list[Selection] = []
    """Cases instead of the module's."""

    @property
    def title(self) -> str:
        """Return the name asked for, else what is measured, such as `mpi.latency-and-2-more`."""
        if self.name is not None:
            return self.name
        asked = list(dict.fromkeys([case.benchmark for case in self.case] or self.only))
        first = re.sub(r"[^A-Za-z0-9._-]", "", asked[0])[:60].strip("._-") if asked else ""
        if not first:
            return self.module
        return f"{first}-and-{len(asked) - 1}-more" if len(asked) > 1 else first


def resolve(file: Path | None, options: dict[str, Any]) -> Experiment:
    """Return the experiment of a TOML file or an HPL.dat (if any) with the command line's options put over it.

    `options` maps dotted keys, such as `launcher.binding`, to values; None leaves the file's value. Raises
    UsageError naming file (or option), key, value and what is allowed.
    """
    asked = _read(file) if file else {}
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        _put(asked, key.split("."), value)
    try:
        return Experiment.model_validate(asked)
    except ValidationError as error:
        raise UsageError(_explain(error, file, given)) from error


def write(experiment: Experiment) -> str:
    """Return the experiment as TOML that `resolve` reads back."""
    return tomli_w.dumps(experiment.model_dump(mode="json", exclude_none=True))


def did_you_mean(word: str, allowed: list[str]) -> str:
    """Return `; did you mean X?` when an allowed word is close."""
    close = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _read(file: Path) -> dict[str, Any]:
    if file.suffix == hpl.SUFFIX:
        return {"case": hpl.read(file)}
    return read_toml(file)


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            return  # the file's wrong value is reported by the validation
        table = inner
    table[path[-1]] = value


def _explain(error: ValidationError, file: Path | None, given: dict[str, Any]) -> str:
    first = error.errors(include_url=False)[0]
    location = [part for part in first["loc"] if part != "Selection"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    value = shortened(first["input"])
    option = next((name for name in given if name == key or key.startswith((f"{name}[", f"{name}."))), None)
    where = f"--{option.rpartition('.')[2].removesuffix('_s').replace('_', '-')}" if option else f"{file}: {key}"
    if first["type"] == "extra_forbidden":
        allowed = _keys_beside(location)
        near = did_you_mean(str(location[-1]), allowed)
        return f"{where} = {value}: unknown key; allowed here: {', '.join(allowed)}{near}"
    if first["type"] == "missing":
        return f"{where}: missing; every [[case]] names its benchmark"
    if first["type"] == "literal_error":
        allowed = first["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return (
            f"{where} = {value}: must be one of {', '.join(allowed)}{did_you_mean(str(first['input']), allowed)}"
        )
    return f"{where} = {value}: {must(first['msg'])}"


def _keys_beside(location: list[int | str]) -> list[str]:
    model: Any = Experiment
    for part in location[:-1]:
        if isinstance(part, str) and part in model.model_fields:
            annotation = model.model_fields[part].annotation
            model = next(iter(get_args(annotation)), annotation)
    return list(model.model_fields)
