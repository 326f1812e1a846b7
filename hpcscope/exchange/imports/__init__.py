"""Outputs of other benchmarks that come in as runs: one format each, found by walking this package.

Each module has

TITLE   the name of the program: `OSU Micro-Benchmarks`
BEGINS  the lines that a run begins with, in their order; each may be missing
ENDS    where it has one, the line that a run ends with
claims  whether an output holds lines of this program, by its content
read    the figures of one run, and the numbers of all lines that were understood

An output is a file's lines without escape sequences of terminals and prefixes of launchers (`lines.py`). It may be
cut, hold the noise of a batch system between the program's lines, and hold several runs of the program: each is
read by itself, so that no run takes what another one said.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import JsonValue

from hpcscope.catalog.benchmark import Benchmark, Definition, Metric, Parameter, Value
from hpcscope.catalog.foreign import foreign
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Beside, Origin, Statistic

_HELPERS = ("exported", "lines", "objects", "quantities", "reader")


@dataclass(frozen=True)
class PrintedFigure:
    """A figure of a case as it was printed, in the unit of its metric."""

    benchmark: str
    """A benchmark of Scope that measures the same, else one that the reading declares."""
    parameters: dict[str, Value]
    """Those that are known; of others the declared default is assumed."""
    ranks: int | None
    """None where the program does not print them: the user is asked."""
    metric: str
    values: tuple[float, ...]
    """One, or all repetitions where the statistic is `each`."""
    statistic: Statistic
    line: int
    definition: Definition | None = None
    """Of the time behind the figure; None: the metric's own. `observed` metrics have none."""
    repetitions: int | None = None
    """Behind the statistic; None where they are not printed."""
    beside: dict[Beside, float] = field(default_factory=dict)
    """Further statistics of the same repetitions."""
    failure: str = ""
    """Why the program says that its result is wrong; empty where it does not."""
    transport: str = "default"
    placement: Placement = field(default_factory=Placement)
    origin: Origin = "imported"
    summary: dict[str, JsonValue] = field(default_factory=dict)
    """Of an export of Scope: what it holds of `statistics.json`, with the same keys."""


@dataclass(frozen=True)
class Reading:
    """What an output says."""

    program: str
    """With its version where it is printed: `OSU Micro-Benchmarks 7.4`."""
    figures: list[PrintedFigure]
    understood: set[int]
    """Numbers of the lines that were understood, those of figures included."""
    missing: list[str] = field(default_factory=list)
    """What the program does not print, as nouns: `the number of repetitions`."""
    differences: list[str] = field(default_factory=list)
    """What it does otherwise than Scope's benchmarks that its figures stand for, and columns that are left out, as
    clauses: `reductions sum MPI_CHAR, Scope sums MPI_DOUBLE`."""
    benchmarks: list[Benchmark] = field(default_factory=list)
    """Declarations of figures that Scope has no benchmark for."""
    hosts: list[str] = field(default_factory=list)
    """Names of the hosts, where they are printed."""
    started_unix_s: float | None = None
    """When the program began, where that is printed."""
    refused: list[str] = field(default_factory=list)
    """Which lines are left out because they cannot be told apart, and why."""


class MixedRunsError(Exception):
    """Lines of several runs stand between one another: what belongs to which is not known."""


class Format(Protocol):
    """A module of this package."""

    TITLE: str
    BEGINS: Sequence[re.Pattern[str]]

    def claims(self, lines: Sequence[TextLine]) -> bool:
        """Return whether an output holds lines of this program; UsageError where it is another file of its."""

    def read(self, lines: Sequence[TextLine]) -> Reading:
        """Return the figures of a run; a line that is not understood is left out of `understood`.

        Raises MixedRunsError where the run says a thing in two ways.
        """


def names() -> list[str]:
    """Return the names of the formats, as the command line has them."""
    return [
        module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.name not in _HELPERS
    ]


def format_of(name: str) -> Format:
    """Return a format by its name."""
    found: Format = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return found


def read(format_: Format, lines: Sequence[TextLine]) -> Reading:
    """Return what an output says; each of its runs is read by itself."""
    readings = [_read_run(format_, run) for run in _runs(format_.BEGINS, lines)] or [format_.read(lines)]
    versions = dict.fromkeys(reading.program.removeprefix(format_.TITLE).strip(" ,") for reading in readings)
    moments = [reading.started_unix_s for reading in readings if reading.started_unix_s is not None]

    def each(name: str) -> dict[Any, None]:
        return dict.fromkeys(what for reading in readings for what in getattr(reading, name))

    return Reading(
        program=f"{format_.TITLE} {', '.join(filter(None, versions))}".strip(),
        figures=[figure for reading in readings for figure in reading.figures],
        understood=set(each("understood")),
        missing=list(each("missing")),
        differences=list(each("differences")),
        benchmarks=merged(declaration for reading in readings for declaration in reading.benchmarks),
        hosts=list(each("hosts")),
        started_unix_s=min(moments, default=None),
        refused=list(each("refused")),
    )


def once(facts: dict[Any, Any], key: object, value: object) -> None:
    """Note what a run says; raise MixedRunsError where it has said otherwise."""
    if facts.setdefault(key, value) != value:
        raise MixedRunsError(str(key))


def _runs(begins: Sequence[re.Pattern[str]], lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Return the lines of each run: one ends where a line comes that stands before what it has already had."""
    found: list[list[TextLine]] = [[]]
    last = -1
    for line in lines:
        place = next((place for place, begin in enumerate(begins) if begin.match(line.text)), None)
        if place is not None:
            if place <= last or last < 0:
                found.append([])
            last = place
        found[-1].append(line)
    return [run for run in found if run]


def _read_run(format_: Format, run: Sequence[TextLine]) -> Reading:
    end: re.Pattern[str] | None = getattr(format_, "ENDS", None)
    ends = [line.number for line in run if end is not None and end.match(line.text)]
    try:
        reading = format_.read(run)
        if len(ends) > 1 or (ends and any(printed.line > ends[0] for printed in reading.figures)):
            raise MixedRunsError("their last line")
        return reading
    except MixedRunsError as error:
        where = f"lines {run[0].number} to {run[-1].number}"
        refusal = f"{where} are not read: they mix several runs of {format_.TITLE}, which print {error} twice"
        return Reading(format_.TITLE, [], set(), refused=[refusal])


def declared(
    name: str, title: str, summary: str, metrics: Sequence[Metric], parameters: Sequence[Parameter] = ()
) -> Benchmark:
    """Return the declaration of a foreign benchmark: its name begins with a level, as `mpi.osu_ibcast`."""
    return foreign(name, title, summary, metrics, parameters, reason="a benchmark of another program")


def setting(name: str, value: str, default: str = "unknown", bare: bool = False) -> Parameter:
    """Return a parameter of a foreign benchmark that is a text; an output that lacks it has the default.

    Labels say `window MPI_Win_create`, or with `bare` the value alone, and nothing of the default.
    """
    label = name.replace("_", " ")
    one = parameter(name, label, [default, value or default], role="call")
    words = ["" if choice == default else choice if bare else f"{label} {choice}" for choice in one.choices]
    return one.model_copy(update={"words": words})


def merged(benchmarks: Iterable[Benchmark]) -> list[Benchmark]:
    """Return declarations with each name once: with all metrics, parameters and choices of those that share it."""
    found: dict[str, Benchmark] = {}
    for benchmark in benchmarks:
        known = found.setdefault(benchmark.name, benchmark)
        if known is benchmark:
            continue
        parameters = known.parameter
        for each in benchmark.parameters:
            before = parameters.get(each.name, each)
            words = dict(zip(each.choices, each.words, strict=False)) | dict(
                zip(before.choices, before.words, strict=False)
            )
            choices = list(dict.fromkeys([*before.choices, *each.choices]))
            parameters[each.name] = before.model_copy(
                update={
                    "choices": choices,
                    "words": [words[choice] for choice in choices] if words else before.words,
                }
            )
        update = {
            "metrics": list({**benchmark.metric, **known.metric}.values()),
            "parameters": list(parameters.values()),
        }
        found[benchmark.name] = known.model_copy(update=update)
    return list(found.values())


def metric(name: str, unit: str, label: str, better: str = "lower") -> Metric:
    """Return a metric of a foreign benchmark, whose figures stand as they were printed."""
    said = {"name": name, "unit": unit, "better": better, "label": label}
    return Metric.model_validate({**said, "quantity": "observed", "definition": "local", "role": "result"})


def parameter(name: str, label: str, values: Sequence[Value], unit: str = "", role: str = "problem") -> Parameter:
    """Return a parameter of a foreign benchmark: a number, or one of the texts that occur."""
    number = all(isinstance(value, int) for value in values)
    return Parameter.model_validate(
        {
            "name": name,
            "type": "integer" if number else "choice",
            "unit": unit,
            "default": values[0],
            "choices": [] if number else list(dict.fromkeys(map(str, values))),
            "label": label,
            "role": role,
            "meaning": "",
        }
    )


BANDWIDTH = metric("bandwidth_bytes_per_s", "B/s", "bandwidth", "higher")
FLOPS = metric("flops_per_s", "flop/s", "floating-point rate", "higher")
TIME = metric("time_s", "s", "time")
MESSAGE_SIZE = parameter("message_bytes", "message size", [1], "B", role="size")


def slug(text: str) -> str:
    """Return a text as a part of a benchmark's name: `Get_accumulate (multi)` as `get_accumulate_multi`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
