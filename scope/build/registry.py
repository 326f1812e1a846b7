"""What the native program says of its benchmarks (`scope-measure --action=list`, stored as `benchmarks.json`)."""

from __future__ import annotations

import subprocess
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from scope.errors import ScopeError
from scope.rundirectory import explain

PATIENCE_S = 60

Definition = Literal["half_round_trip", "global", "max_rank", "mean_rank", "local", "streaming", "barrier_loop"]
"""What "the time" means; see docs/method/time.md."""

Quantity = Literal["time", "time_per_step", "bytes", "flops", "messages", "observed"]
"""What a metric is made of: the time, the time of each declared step, declared work over the time, or an observed
series."""

Module = Literal["baseline", "standard", "advanced"]


class Description(BaseModel):
    """A part of the registry's answer; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ParameterDescription(Description):
    """One parameter of a benchmark."""

    name: str
    type: Literal["integer", "choice"]
    unit: str
    default: int | str
    minimum: int | None = None
    maximum: int | None = None
    choices: list[str] = []
    label: str = ""
    role: Literal["size", "problem", "method", "parallel", "layout", "call", "path"] = "problem"
    meaning: str


class MetricDescription(Description):
    """One figure that is derived from a benchmark's samples."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    quantity: Quantity
    definition: Definition
    """The definition of time behind the headline figure; others are reported beside it."""
    label: str = ""
    role: Literal["result", "phase", "count", "condition"] = "result"


class Ranks(Description):
    """The numbers of ranks that a benchmark can use."""

    minimum: int
    maximum: int | None
    multiple_of: int
    square: bool
    one_of: list[int]


class Binding(Description):
    """A routine of MPI that the benchmark stands for, with the parameters with which it does."""

    routine: str
    parameters: dict[str, int | str]
    bytes: Literal["per_block", "total"]


class Rung(Description):
    """Where the benchmark stands on a ladder, with the parameters with which it does."""

    pattern: str
    layer: str
    metric: str
    parameters: dict[str, int | str]


class Step(Description):
    """What the busiest rank does, one step after another."""

    phase: str
    kind: Literal["work", "messages", "collective"]
    routine: str
    count: str
    bytes: str
    ranks: str
    hidden: bool


class Sweep(Description):
    """Cases that a module runs: `ranks=2 transport=default,tcp mode=standard message_bytes=0,1024`."""

    module: Module
    cases: str


class BenchmarkDescription(Description):
    """One registered benchmark."""

    name: str
    title: str
    summary: str
    source: str
    """Its source file, relative to `measure/src/benchmarks`."""
    specification: str
    """The Markdown file beside it, relative to the same folder."""
    available: bool
    reason: str
    """Why it is not available; empty when it is."""
    family: str
    requires: list[str]
    ranks: Ranks
    routines: list[Binding]
    rungs: list[Rung]
    costs: list[Step]
    parameters: list[ParameterDescription]
    metrics: list[MetricDescription]
    sweeps: list[Sweep]

    @property
    def level(self) -> str:
        """The layer it measures: the part of its name before the dot."""
        return self.name.split(".")[0]

    @property
    def minimum_ranks(self) -> int:
        """The fewest ranks it can use."""
        return self.ranks.minimum

    @property
    def maximum_ranks(self) -> int | None:
        """The most ranks it can use."""
        return self.ranks.maximum

    @property
    def rank_rule(self) -> Literal["any", "even", "square", "one_or_seven"]:
        """Which numbers of ranks it can use."""
        if self.ranks.one_of:
            return "one_or_seven"
        if self.ranks.square:
            return "square"
        return "even" if self.ranks.multiple_of == 2 and self.ranks.minimum != self.ranks.maximum else "any"

    @property
    def module(self) -> str:
        """The smallest module that runs it."""
        order = ["baseline", "standard", "advanced"]
        return min((sweep.module for sweep in self.sweeps), key=order.index, default="advanced")


def load(program: str) -> list[BenchmarkDescription]:
    """Ask the native program for its benchmarks, in the order of their names.

    Raises ScopeError when it does not run or says something that is no registry.
    """
    command = [program, "--action=list"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {PATIENCE_S} s"
        raise ScopeError(f"{program}: does not run: {reason}; scope build makes it again") from error
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or ["nothing"])[0]
        raise ScopeError(f"{program}: --action=list ended with {answer.returncode} and said: {said}")
    try:
        benchmarks = TypeAdapter(list[BenchmarkDescription]).validate_json(answer.stdout)
    except ValidationError as error:
        raise ScopeError(f"{program}: its list of benchmarks: {explain(error)}") from error
    return sorted(benchmarks, key=lambda benchmark: benchmark.name)
