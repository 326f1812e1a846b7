"""What the native program says of its benchmarks (`scope-measure --action=list`, stored as `benchmarks.json`)."""

from __future__ import annotations

import subprocess
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from scope.errors import ScopeError
from scope.rundirectory import explain
from scope.strict import Strict

PATIENCE_S = 60

Definition = Literal["half_round_trip", "global", "max_rank", "mean_rank", "local", "streaming", "barrier_loop"]
"""What "the time" means; see docs/method/time.md."""

Quantity = Literal["time", "time_per_step", "bytes", "flops", "messages", "observed"]
"""What a metric is made of: the time, the time of each declared step, declared work over the time, or an observed
series."""

Module = Literal["baseline", "standard", "advanced"]


class ParameterDescription(Strict):
    """One parameter of a benchmark."""

    name: str
    type: Literal["integer", "choice"]
    unit: str
    default: int | str
    minimum: int | None = None
    maximum: int | None = None
    choices: list[str] = []
    meaning: str


class MetricDescription(Strict):
    """One figure that is derived from a benchmark's samples."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    quantity: Quantity
    definition: Definition
    """The definition of time behind the headline figure; others are reported beside it."""


class Sweep(Strict):
    """Cases that a module runs: `ranks=2 transport=default,tcp mode=standard message_bytes=0,1024`."""

    module: Module
    cases: str


class BenchmarkDescription(Strict):
    """One registered benchmark."""

    name: str
    summary: str
    source: str
    """Its source file, relative to `measure/src/benchmarks`."""
    specification: str
    """The Markdown file beside it, relative to the same folder."""
    available: bool
    reason: str
    """Why it is not available; empty when it is."""
    minimum_ranks: int
    maximum_ranks: int | None
    rank_rule: Literal["any", "even", "square", "one_or_seven"]
    parameters: list[ParameterDescription]
    metrics: list[MetricDescription]
    sweeps: list[Sweep]

    @property
    def level(self) -> str:
        """The layer it measures: the part of its name before the dot."""
        return self.name.split(".")[0]

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
