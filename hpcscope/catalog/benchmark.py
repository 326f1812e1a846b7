"""The types of `benchmarks.json`: the declarations of benchmarks (`scope-measure --action=list`)."""

import re
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import model_validator

from hpcscope.catalog.expression import names_in
from hpcscope.catalog.ranks import Ranks
from hpcscope.settings.experiment import Module
from hpcscope.strict import Strict

Value = bool | int | float | str
"""The value of a parameter."""

Definition = Literal["half_round_trip", "global", "max_rank", "mean_rank", "local", "streaming", "barrier_loop"]
"""The definition of a time; see docs/method/time.md."""

Quantity = Literal["time", "time_per_step", "bytes", "moved_bytes", "flops", "messages", "observed"]
"""The source of a metric: the time, the time of each declared step, declared work over the time, or an observed
series. `moved_bytes` are the bytes of all ranks that travel: without the copies that ranks keep."""

MODULES: tuple[Module, ...] = ("baseline", "standard", "advanced")
"""From the smallest to the largest module; each includes the previous ones."""

Role = Literal["size", "problem", "method", "parallel", "layout", "call", "path"]
"""What a parameter decides: the size of the problem; what is computed or sent; how; how ranks share work and
exchange data (no effect on one rank); the layout of data in memory; how MPI is called; the path of messages."""

MetricRole = Literal["result", "phase", "count", "condition"]
"""What a metric is: a result, a part of the time, a count, or a condition such as the socket buffer granted."""

Pattern = Literal[
    "ping_pong",
    "stream",
    "transfer",
    "communication",
    "arithmetic",
    "memory",
    "copy",
    "core_copy",
    "pair_matrix",
    "pair_sample",
    "neighbor_exchange",
    "file_write",
    "file_read",
    "device_memory",
    "device_link",
    "device_arithmetic",
    "device_messages",
]
"""The kind of exchange by which two layers are compared; see docs/method/ladder.md."""

Layer = Literal[
    "limit", "frames", "node", "device", "storage", "network", "mpi", "operation", "algorithm", "application"
]
"""The layers of ladders, from the bottom up: the limits, raw frames, the levels of benchmarks.

Programs write files through MPI-IO, MPI-IO through the file system, and the file system to disks."""

LAYERS_OF: dict[Pattern, tuple[Layer, ...]] = {
    "ping_pong": ("frames", "network", "mpi"),
    "stream": ("frames", "network", "mpi"),
    "transfer": ("operation",),
    "communication": ("algorithm", "application"),
    "copy": ("limit",),
    "core_copy": ("limit",),
    "file_write": ("node", "storage", "mpi", "application"),
    "file_read": ("node", "storage", "mpi", "application"),
    "device_memory": ("device",),
    "device_link": ("device",),
    "device_arithmetic": ("device",),
    "device_messages": ("mpi",),
}
"""The layers on which a pattern has rungs; patterns that are not listed may have them on every layer."""

PREDICTED: tuple[Layer, ...] = ("operation", "algorithm", "application")
"""Levels whose declared costs are evaluated in predictions."""

Phase = Literal["initialize", "distribute", "compute", "exchange", "collect"]

ANY = "*"
"""In the parameters of a rung or a routine: any value of the parameter."""


_OF_ONE_VALUE = re.compile(r"-?[0-9]+=.+")


class Parameter(Strict):
    """One parameter of a benchmark."""

    name: str
    type: Literal["integer", "choice"]
    unit: str
    default: int | str
    minimum: int | None = None
    maximum: int | None = None
    choices: list[str] = []
    label: str
    """The display name: `message size`."""
    words: list[str] = []
    """Phrases in the label of a case. For a choice: one per value, empty if the label omits it. For an integer:
    phrases for single values, `0=all keys`, then one around any other value, `{} keys`. Without any words, a
    label does not mention a default."""
    role: Role
    meaning: str

    @model_validator(mode="after")
    def _has_words_for_every_value(self) -> Self:
        if not self.words:
            return self
        if self.type == "integer":
            if self.words[-1].count("{}") != 1 or not all(map(_OF_ONE_VALUE.fullmatch, self.words[:-1])):
                raise ValueError(
                    f"{self.name}: words = {self.words}: must be phrases for single values, such as 0=all,"
                    " and then one phrase with {} for every other value"
                )
        elif len(self.words) != len(self.choices) or len(set(self.words)) != len(self.words):
            allowed = f"a different phrase for each of {', '.join(self.choices)}"
            raise ValueError(f"{self.name}: words = {self.words}: must be {allowed}")
        return self


class Metric(Strict):
    """One value that is derived from a benchmark's samples."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    quantity: Quantity
    definition: Definition
    """The definition of time behind the headline result; others are reported, too."""
    label: str
    role: MetricRole


class Routine(Strict):
    """An MPI routine that a benchmark represents."""

    routine: str
    """For example `MPI_Bcast`."""
    parameters: dict[str, Value] = {}
    """The values with which it does; a parameter that is not named has its default, except one of role `size`."""
    bytes: Literal["per_block", "total"] = "per_block"
    """Whether the routine's buffer has `message_bytes`, or blocks of `message_bytes` for all ranks."""
    ends_epoch: list[str] = []
    """Calls that end an epoch of one-sided routines. The time of a case includes these calls and the next ones."""
    begins_epoch: list[str] = []
    call_size: str = ""
    """The parameter that is the size of one call, if a case makes many calls; empty: a case is one call."""


class Rung(Strict):
    """A place on a ladder."""

    pattern: Pattern
    layer: Layer
    """`limit` if the benchmark is an upper bound on the others; else its level, or `frames`."""
    metric: str = ""
    """Empty: any metric of role `result`."""
    parameters: dict[str, Value] = {}
    """The cases on this rung; a parameter that is not named has its default, except one of role `size`."""


class Step(Strict):
    """One step of the busiest rank.

    The numbers are expressions in the parameters that are numbers, the metrics of role `count` as one rank
    observed them, and the ranks `p`.
    """

    phase: Phase
    kind: Literal["work", "messages", "collective", "neighbor_exchange"]
    routine: str = ""
    """MPI routine of a collective."""
    count: str = "1"
    """Units of work, or the number of successive messages, calls or exchanges."""
    bytes: str = "0"
    """Bytes per message or call."""
    ranks: str = "p"
    """Ranks that take part in a collective."""
    hidden: bool = False
    """Whether computation hides it."""
    at_once: str = "1"
    """Number of messages of a neighbor exchange that are posted together while as many arrive."""
    parameters: dict[str, Value] = {}
    """The cases that have this step; a parameter that is not named may have any value."""

    def belongs_to(self, parameters: Mapping[str, Value]) -> bool:
        """Return whether a case with these parameters has this step."""
        return all(parameters.get(name) == value for name, value in self.parameters.items())


class Sweep(Strict):
    """Cases that a module runs: `ranks=2 transport=default,tcp mode=standard message_bytes=0,1024`."""

    module: Module
    cases: str


class Benchmark(Strict):
    """One registered benchmark."""

    name: str
    title: str
    """The display name: `ping-pong`."""
    summary: str
    source: str
    """Its source file: relative to `measure/src/benchmarks`, or the full path of a file elsewhere."""
    specification: str
    """The Markdown file next to the source file, with a path of the same kind."""
    available: bool
    reason: str
    """Why it is not available; empty if it is. If availability is only assumed: why it is not known."""
    family: str
    """Benchmarks of one family compute the same: their times are comparable for equal sizes and problems."""
    requires: list[str] = []
    """Requirements of a case beyond MPI: `blas`, `threads`, ..."""
    ranks: Ranks = Ranks()
    routines: list[Routine] = []
    rungs: list[Rung] = []
    costs: list[Step] = []
    """The successive steps of the busiest rank; empty if they are not declared."""
    parameters: list[Parameter]
    metrics: list[Metric]
    sweeps: list[Sweep]

    @model_validator(mode="after")
    def _has_a_place_for_every_rung(self) -> Self:
        for rung in self.rungs:
            layers = LAYERS_OF.get(rung.pattern, (rung.layer,))
            if rung.layer not in layers:
                where = f"{self.name}: rungs: pattern = {rung.pattern}, layer = {rung.layer}"
                raise ValueError(f"{where}: the layer must be {' or '.join(layers)}")
        return self

    @model_validator(mode="after")
    def _has_costs_that_can_be_evaluated(self) -> Self:
        if self.costs and self.level not in PREDICTED:
            raise ValueError(f"{self.name}: costs: must be given only for the levels {', '.join(PREDICTED)}")
        counts = (metric.name for metric in self.metrics if metric.role == "count")
        known = {"p", *(parameter.name for parameter in self.parameters if parameter.type == "integer"), *counts}
        for step in self.costs:
            for name, value in step.parameters.items():
                declared = self.parameter.get(name)
                if declared is None or (declared.choices and value not in declared.choices):
                    allowed = f"one of {', '.join(declared.choices)}" if declared else "of a declared parameter"
                    raise ValueError(f"{self.name}: costs: parameters: {name} = {value}: must be {allowed}")
            for text in (step.count, step.bytes, step.ranks, step.at_once):
                if unknown := names_in(text) - known:
                    allowed = ", ".join(sorted(known))
                    raise ValueError(f"{self.name}: costs: {text}: unknown name {min(unknown)}; known: {allowed}")
        return self

    @property
    def level(self) -> str:
        """The layer that it measures: the part of its name before the dot."""
        return self.name.partition(".")[0]

    @property
    def native(self) -> bool:
        """Whether `scope run` measures it; results of other programs or commands have no source."""
        return bool(self.source)

    @property
    def module(self) -> Module:
        """The smallest module that runs it."""
        return min((sweep.module for sweep in self.sweeps), key=MODULES.index, default=MODULES[-1])

    @property
    def parameter(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return {parameter.name: parameter for parameter in self.parameters}

    @property
    def metric(self) -> dict[str, Metric]:
        """The metrics by name."""
        return {metric.name: metric for metric in self.metrics}
