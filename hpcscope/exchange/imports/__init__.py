"""Formats for importing the output of other benchmarks as runs: one module each, found by walking this package.

Each module has a class `_Reader`, derived from `LineReader` (`reader.py`). It says by which lines an output of the
program is recognized and where its runs begin and end, and returns the values of one run with the numbers of all
lines that were understood.

An output is the lines of a file without terminal escape sequences and launcher prefixes (`lines.py`). It may be
truncated, have lines of a batch system between the program's lines, and hold several runs of the program. Each run
is read separately, so that settings of one run do not leak into another.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue

from hpcscope.catalog.benchmark import Benchmark, Definition, Metric, Parameter, Value
from hpcscope.catalog.declared import declared as of_scope
from hpcscope.catalog.foreign import foreign
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Beside, Origin, Statistic

if TYPE_CHECKING:
    from hpcscope.exchange.imports.reader import LineReader

    Format = type[LineReader]

_HELPERS = ("exported", "lines", "objects", "quantities", "reader")


@dataclass(frozen=True)
class PrintedFigure:
    """A value of a case as it was printed, in the unit of its metric; without a value, the case alone."""

    benchmark: str
    """A Scope benchmark that measures the same, else a benchmark that the reading declares."""
    parameters: dict[str, Value]
    """The known parameters; all others are assumed to have their declared defaults."""
    ranks: int | None
    """None if the program does not print the number of ranks; the user is then asked for it."""
    metric: str
    values: tuple[float, ...] = ()
    """A single value, or the values of all repetitions if the statistic is `each`."""
    statistic: Statistic = "each"
    line: int = 0
    definition: Definition | None = None
    """Definition of the measured time; None means the metric's own. `observed` metrics have no definition."""
    repetitions: int | None = None
    """Number of repetitions in the statistic; None if it is not printed."""
    beside: dict[Beside, float] = field(default_factory=dict)
    """Further statistics of the same repetitions."""
    failure: str = ""
    """Reason that the program gives for calling its result wrong; empty if it does not."""
    transport: str = "default"
    placement: Placement = field(default_factory=Placement)
    origin: Origin = "imported"
    summary: dict[str, JsonValue] = field(default_factory=dict)
    """For an export of Scope: the part of `statistics.json` that it holds, with the same keys."""


class Given(NamedTuple):
    """A parameter of a foreign benchmark, and its value in a case."""

    parameter: Parameter
    value: Value


@dataclass
class Reading:
    """The content of an output."""

    figures: list[PrintedFigure] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)
    """Numbers of the lines that were understood, including lines with values."""
    versions: list[str] = field(default_factory=list)
    """Versions of the program, if printed."""
    missing: list[str] = field(default_factory=list)
    """What the program does not print, as nouns: `the number of repetitions`."""
    differences: list[str] = field(default_factory=list)
    """How the program differs from the Scope benchmarks that its values are assigned to, and columns that are left
    out, as clauses: `reductions sum MPI_CHAR, Scope sums MPI_DOUBLE`."""
    benchmarks: list[Benchmark] = field(default_factory=list)
    """Declarations for values that Scope has no benchmark for."""
    hosts: list[str] = field(default_factory=list)
    """Names of the hosts, if printed."""
    started_unix_s: float | None = None
    """Start time of the program, if printed."""
    refused: list[str] = field(default_factory=list)
    """Ranges of lines that were left out because they mix several runs, each with the reason."""
    title: str = ""
    """Name of the program, which formats leave to `read`."""

    @property
    def program(self) -> str:
        """Name of the program, with its version if printed: `OSU Micro-Benchmarks 7.4`."""
        return f"{self.title} {', '.join(self.versions)}".strip()


class MixedRunsError(Exception):
    """Lines of several runs are interleaved, so that it is not known which line belongs to which run."""


def names() -> list[str]:
    """Return the names of the formats, as used on the command line."""
    return [
        module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.name not in _HELPERS
    ]


def format_of(name: str) -> Format:
    """Return a format by its name."""
    found: Format = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")._Reader
    return found


def read(format_: Format, lines: Sequence[TextLine]) -> Reading:
    """Return the content of an output; each of its runs is read separately."""
    readings = [_read_run(format_, run) for run in _runs(format_.BEGINS, lines)] or [format_.read(lines)]
    moments = [reading.started_unix_s for reading in readings if reading.started_unix_s is not None]

    def each(name: str) -> dict[Any, None]:
        return dict.fromkeys(what for reading in readings for what in getattr(reading, name))

    return Reading(
        figures=[figure for reading in readings for figure in reading.figures],
        understood=set(each("understood")),
        versions=[said for version in each("versions") if (said := version.strip(" ,"))],
        missing=list(each("missing")),
        differences=list(each("differences")),
        benchmarks=merged(declaration for reading in readings for declaration in reading.benchmarks),
        hosts=list(each("hosts")),
        started_unix_s=min(moments, default=None),
        refused=list(each("refused")),
        title=format_.TITLE,
    )


def once(facts: dict[Any, Any], key: object, value: object) -> None:
    """Store a fact of a run; raise MixedRunsError if another value is already stored."""
    if facts.setdefault(key, value) != value:
        raise MixedRunsError(str(key))


def _runs(begins: Sequence[re.Pattern[str]], lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Split lines into runs: a run ends before a line of `begins` that is not later in order than the last one."""
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
    end = format_.ENDS
    ends = [line.number for line in run if end is not None and end.match(line.text)]
    try:
        reading = format_.read(run)
        if len(ends) > 1 or (ends and any(printed.line > ends[0] for printed in reading.figures)):
            raise MixedRunsError("their last line")
        return reading
    except MixedRunsError as error:
        where = f"lines {run[0].number} to {run[-1].number}"
        refusal = f"{where} are not read: they mix several runs of {format_.TITLE}, which print {error} twice"
        return Reading(refused=[refusal])


def declared(
    name: str, title: str, summary: str, metrics: Sequence[Metric], parameters: Sequence[Parameter] = ()
) -> Benchmark:
    """Return the declaration of a foreign benchmark, whose name begins with a level, as in `mpi.osu_ibcast`."""
    return foreign(name, title, summary, metrics, parameters, reason="a benchmark of another program")


def collective(routine: str) -> str | None:
    """Return the Scope benchmark of a collective, such as `MPI_Bcast`; None if there is none."""
    return next((binding.benchmark.name for binding in of_scope().bound_to(routine)), None)


def setting(name: str, value: str, default: str = "unknown", bare: bool = False) -> Given:
    """Return a text of a case of a foreign benchmark; an output that lacks it has the default.

    Labels say `window MPI_Win_create`, or only the value with `bare`, and do not mention the default.
    """
    label = name.replace("_", " ")
    one = parameter(name, label, [default, value or default], role="call")
    words = ["" if choice == default else choice if bare else f"{label} {choice}" for choice in one.choices]
    return Given(one.model_copy(update={"words": words}), value)


def merged(benchmarks: Iterable[Benchmark]) -> list[Benchmark]:
    """Return one declaration per name, with all metrics, parameters and choices declared under that name."""
    found: dict[str, Benchmark] = {}
    for benchmark in benchmarks:
        known = found.setdefault(benchmark.name, benchmark)
        if known is benchmark:
            continue
        parameters = known.parameter
        for each in benchmark.parameters:
            before = parameters.get(each.name, each)
            said = dict(zip(each.choices, each.words, strict=False))
            said |= zip(before.choices, before.words, strict=False)
            choices = list(dict.fromkeys([*before.choices, *each.choices]))
            words = [said[choice] for choice in choices] if said else before.words
            parameters[each.name] = before.model_copy(update={"choices": choices, "words": words})
        metrics = list({**benchmark.metric, **known.metric}.values())
        found[benchmark.name] = known.model_copy(
            update={"metrics": metrics, "parameters": list(parameters.values())}
        )
    return list(found.values())


def metric(name: str, unit: str, label: str, better: str = "lower") -> Metric:
    """Return a metric of a foreign benchmark, whose values are kept as printed."""
    said = {"name": name, "unit": unit, "better": better, "label": label}
    return Metric.model_validate({**said, "quantity": "observed", "definition": "local", "role": "result"})


def parameter(name: str, label: str, values: Sequence[Value], unit: str = "", role: str = "problem") -> Parameter:
    """Return a parameter of a foreign benchmark: a number, or one of the occurring texts."""
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
ANY_SIZE = parameter("message_bytes", "message size", [0], "B", role="size")
"""Size of messages that may be empty."""


def slug(text: str) -> str:
    """Return a text as part of a benchmark's name: `Get_accumulate (multi)` becomes `get_accumulate_multi`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
