"""A study, read from a TOML file such as this.

name = "waves"
program = "./waves --points {points}"    # Scope starts it on each number of ranks;
# command = "mpiexec -n {ranks} ./waves"   or: it starts its ranks itself
ranks = [1, 2, 4]
placement = ["packed", "spread"]
transport = ["default", "tcp"]
repetitions = 6
check = "grep -q converged"              # reads what the program printed

[parameters]
points = [1000, 2000]

[[further_parameters]]                   # points in addition to the product above
points = [64000]
"""

from __future__ import annotations

import difflib
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from hpcscope.errors import UsageError
from hpcscope.names import NAME
from hpcscope.plan.case import over_active_messages
from hpcscope.programs.profiles.program import LAUNCHERS
from hpcscope.rundirectory import explain, read_toml
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.kinds import did_you_mean
from hpcscope.strict import Asked, Printable, Strict, Text, Words


def _variable(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        raise ValueError("must be the name of a variable: letters, digits and underscores")
    return name


VariableName = Annotated[str, AfterValidator(_variable)]


def _single(value: Any) -> Any:
    """Return the value of a parameter; ValueError for a table, a list or a time."""
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("must be a word, a finite number, true or false")
    return value


Value = Annotated[bool | int | float | Printable, BeforeValidator(_single)]
OneOrMore = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
"""A list; in a file, a single value may stand for a list of one."""
Placement = Literal["packed", "spread", "free"]
"""Fill hosts one after another, spread ranks over all hosts, or leave the placement to the launcher."""
Transport = Literal["default", "tcp", "active-messages", "active-messages.no-flow-control"]
WORD = re.compile(r"\{([A-Za-z_]\w*)\}")
OWN_WORDS = ("ranks", "placement", "transport", "repetition", "run")
"""Names that a command may use besides its parameters; `run` is the directory of the run."""
MOST_RUNS = 100_000


class Point(Strict):
    """The configuration of a run; runs of one point differ only by chance."""

    parameters: dict[str, Value] = {}
    ranks: int = 1
    placement: str = "free"
    transport: str = "default"

    @property
    def key(self) -> str:
        """Text that is the same for equal points."""
        return json.dumps(self.model_dump(), sort_keys=True)

    @property
    def factors(self) -> dict[str, Value]:
        """All factors by name."""
        chosen: dict[str, Value] = dict(self.parameters)
        return chosen | {"ranks": self.ranks, "placement": self.placement, "transport": self.transport}

    def without(self, name: str) -> Point:
        """Return the point without one factor, so that points which differ only in that factor become equal."""
        if name in self.parameters:
            rest = {key: value for key, value in self.parameters.items() if key != name}
            return self.model_copy(update={"parameters": rest})
        return self.model_copy(update={name: 0 if name == "ranks" else ""})


class Planned(Point):
    """One planned run."""

    number: int
    """Position in the random order, from 1."""
    repetition: int
    """Number of the repetition, from 1."""


class Study(Asked):
    """`study.toml`; unknown keys are refused."""

    name: str = Field("study", pattern=f"^{NAME}$")
    program: Words = []
    """Words of a program whose ranks Scope starts; a string is split as by a shell."""
    command: Words = []
    """Instead of `program`: words of a command that starts its own ranks."""
    parameters: dict[str, Annotated[list[Value], OneOrMore]] = {}
    further_parameters: list[dict[str, Annotated[list[Value], OneOrMore]]] = []
    """Tables whose products are run, too; each overrides some of `parameters`."""
    ranks: Annotated[list[int], OneOrMore] = [1]
    placement: Annotated[list[Placement], OneOrMore] = ["free"]
    transport: Annotated[list[Transport], OneOrMore] = ["default"]
    per: str | None = None
    """Parameter by which features are divided before clustering, such as the number of time steps."""
    repetitions: int = Field(5, ge=1, le=10_000)
    seed: int | None = Field(None, ge=0, lt=2**31)
    """Seed of the random order; None means a random seed."""
    limit_s: float = Field(3600.0, gt=0, le=30 * 86400)
    """Seconds after which a run is ended and counts as failed."""
    check: Words = []
    """A command that reads the output of a run and exits with 0 if the output is correct."""
    environment: dict[VariableName, Printable] = {}
    monitored: bool = True
    """Whether runs are monitored; without the monitor, only elapsed time and CPU time are known."""
    interval_s: float = Field(0.1, gt=0, le=3600)
    """Seconds per row of the monitor's time series."""
    mpi: Text | None = None
    """openmpi, mpich, embedded, the directory of an installation, or an mpicxx."""
    launcher: LauncherSettings = LauncherSettings()

    @model_validator(mode="after")
    def _sensible(self) -> Study:
        if bool(self.program) == bool(self.command):
            raise ValueError("program, command: exactly one of them must be given")
        for table in self.further_parameters:
            if unknown := [name for name in table if name not in self.parameters]:
                raise ValueError(
                    f"further_parameters: {unknown[0]}: must be one of parameters: {', '.join(self.parameters)}"
                )
        tables = [item for table in self._tables() for item in table.items()]
        for name, values in (*tables, *self._own_factors()):
            if not values:
                raise ValueError(f"{name} = []: must have at least one value")
            if len(set(map(repr, values))) < len(values):
                raise ValueError(f"{name} = {values}: must not name a value twice")
        if wrong := [count for count in self.ranks if not 1 <= count <= 10**7]:
            raise ValueError(f"ranks = {wrong[0]}: must be from 1 to 10000000")
        if taken := [name for name in self.parameters if name in OWN_WORDS or not name.isidentifier()]:
            raise ValueError(f"parameters.{taken[0]}: must be a word other than {', '.join(OWN_WORDS)}")
        if self.per is not None:
            values = self.values_of(self.per)
            if not values or any(isinstance(value, str | bool) or value <= 0 for value in values):
                raise ValueError(f"per = {self.per}: must be a parameter whose values are numbers above 0")
        self._refuse_words()
        # More if points occur in several tables.
        own = [len(values) for _, values in self._own_factors()]
        products = [np.prod([*map(len, table.values()), *own], dtype=np.float64) for table in self._tables()]
        if (count := int(sum(products)) * self.repetitions) > MOST_RUNS:
            raise ValueError(f"the product of all values is {count} runs: must be at most {MOST_RUNS}")
        return self

    def _own_factors(self) -> list[tuple[str, list[Any]]]:
        return [("ranks", self.ranks), ("placement", self.placement), ("transport", self.transport)]

    def _tables(self) -> list[dict[str, list[Value]]]:
        return [self.parameters, *(self.parameters | table for table in self.further_parameters)]

    def values_of(self, parameter: str) -> list[Value]:
        """Return all values of a parameter in order; empty if there is no such parameter."""
        found: dict[str, Value] = {}
        for table in self._tables():
            found |= {repr(value): value for value in table.get(parameter, [])}
        return list(found.values())

    def _named(self) -> set[str]:
        texts = [*self.program, *self.command, *self.check, *self.environment.values()]
        return {word for text in texts for word in WORD.findall(text)}

    @property
    def says_ranks(self) -> bool:
        """Whether the study sets the number of ranks; a command that does not use {ranks} sets its own."""
        return not self.command or "ranks" in self._named()

    def _refuse_words(self) -> None:
        named = self._named()
        known = [*self.parameters, *OWN_WORDS]
        for word in sorted(named - set(known)):
            close = difflib.get_close_matches(word, known, n=1)
            hint = f"; did you mean {{{close[0]}}}?" if close else ""
            raise ValueError(f"{{{word}}}: no such parameter; known: {', '.join(known)}{hint}")
        for name in self.parameters:
            if name not in named:
                raise ValueError(f"parameters.{name}: must be used, as {{{name}}}, in the command or environment")
        if self.command:
            chosen = {name for name in self.transport if over_active_messages(name)}
            if chosen and not self.monitored:
                raise ValueError(f"transport = {min(chosen)}: needs the monitor if a command starts the ranks")
            for name, values in self._own_factors():
                told = name == "transport" and not set(values) - chosen - {"default"}
                if len(values) > 1 and name not in named and not told:
                    raise ValueError(f"{name} = {values}: a command that starts its own ranks must use {{{name}}}")

    def points(self) -> Iterator[Point]:
        """Yield every combination of values once."""
        products = (
            dict(zip(table, values, strict=True))
            for table in self._tables()
            for values in product(*table.values())
        )
        for parameters in {repr(chosen): chosen for chosen in products}.values():
            for ranks, placement, transport in product(self.ranks, self.placement, self.transport):
                yield Point(parameters=parameters, ranks=ranks, placement=placement, transport=transport)

    def runs(self) -> list[Planned]:
        """Return all runs in their random order, which the seed determines."""
        return ordered(list(self.points()), self.repetitions, self.seed)


def ordered(points: list[Point], repetitions: int, seed: int | None) -> list[Planned]:
    """Return the runs of some points in a random order.

    Each repetition of all points is shuffled separately, so that a drift over hours affects all points alike.
    """
    random = np.random.default_rng(seed)
    drawn = [
        (repetition, points[position])
        for repetition in range(1, repetitions + 1)
        for position in random.permutation(len(points))
    ]
    return [
        Planned(**dict(point), number=number, repetition=repetition)
        for number, (repetition, point) in enumerate(drawn, 1)
    ]


def filled(words: list[str], run: Planned, folder: Path) -> list[str]:
    """Return the words with every `{name}` replaced by its value."""
    values = {**run.factors, "repetition": run.repetition, "run": str(folder)}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
    return [WORD.sub(lambda match: texts[match[1]], word) for word in words]


def read(file: Path, changes: Mapping[str, Any] | None = None) -> Study:
    """Read a study and override it with `changes`, in which None leaves a value unchanged.

    Raises a UsageError that names file, key, value and what is allowed.
    """
    return made(read_toml(file), str(file), changes)


def made(asked: Mapping[str, Any], where: str, changes: Mapping[str, Any] | None = None) -> Study:
    """Return the study of a table; raises a UsageError that begins with `where`."""
    given = {key: value for key, value in (changes or {}).items() if value is not None}
    try:
        Study.model_validate(asked)  # values that an option overrides must be valid, too
        return Study.model_validate({**asked, **given})
    except ValidationError as error:
        raise UsageError(f"{where}: {_explain(error)}") from error
    except ValueError as error:  # raised by shlex: no closing quotation
        raise UsageError(f"{where}: {error}") from error


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error" and not first["loc"]:
        return str(first["ctx"]["error"])
    if first["type"] == "extra_forbidden":
        known = list(Study.model_fields)
        return f"{explain(error)}; allowed are {', '.join(known)}{did_you_mean(str(first['loc'][-1]), known)}"
    return explain(error)


def named(words: Sequence[str]) -> str:
    """Return the name of a study, from its program or, in a command, from the first program after the launcher."""
    further = (word for word in words[1:] if shutil.which(word))
    program = next(further, words[0]) if starts_ranks(words) else words[0]
    return re.sub(r"[^\w.-]", "_", program.rpartition("/")[2])[:60] or "study"


def starts_ranks(words: Sequence[str]) -> bool:
    """Return whether a command begins with an MPI launcher."""
    first = words[0].rpartition("/")[2]
    return bool(LAUNCHERS.fullmatch(first)) or first == "srun"
