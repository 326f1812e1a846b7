"""Queries on benchmarks by routine, rung, role and family, so that general code does not depend on their names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from hpcscope import units
from hpcscope.catalog.benchmark import ANY, Benchmark, Metric, Parameter, Pattern, Role, Routine, Rung, Value
from hpcscope.catalog.pattern import matches_any
from hpcscope.errors import UsageError
from hpcscope.rundirectory import read_json, read_text, write_json

LIMIT: Final = "limit"
"""The layer that limits all others on a ladder."""
PROGRAM_LEVELS: tuple[Literal["algorithm"], Literal["application"]] = ("algorithm", "application")
"""Levels of whole parallel programs, which have speedups and phases."""
BEYOND_CACHES = 1 << 62
"""Array size of a memory case that chooses its arrays itself: larger than all caches."""
GRID_UNIT = "ranks"
"""Unit of the parameters that are extents of a process grid: the number of ranks decides which are possible."""
DEVICE_UNIT = "device"
"""Unit of the parameter that is the number of a device on its host."""

Settings = Mapping[str, Value]

_NUMBERED = re.compile(r"[A-Z]([0-9]{1,9})")
"""A size choice that consists of a letter and a number, such as the truncation T42."""


_KNOWN: dict[str, "Catalog"] = {}
"""Catalogs by their text, because reading takes long and most runs of one version have the same text."""


class Standing(NamedTuple):
    """A benchmark on one of its rungs."""

    benchmark: Benchmark
    rung: Rung

    def holds(self, settings: Settings, free: Iterable[str] = ()) -> bool:
        """Return whether a case with these parameters is on this rung; `free` parameters may have any value."""
        return chosen(self.benchmark, self.rung.parameters, settings, free)

    def shows(self, metric: str) -> bool:
        """Return whether a metric is the rung's metric, or any result if the rung names none."""
        if self.rung.metric:
            return metric == self.rung.metric
        declared = self.benchmark.metric.get(metric)
        return declared is not None and declared.role == "result"


class Binding(NamedTuple):
    """A benchmark with the MPI routine that it represents."""

    benchmark: Benchmark
    routine: Routine

    def holds(self, settings: Settings, free: Iterable[str] = ()) -> bool:
        """Return whether a case with these parameters calls the routine as a plain program does."""
        return chosen(self.benchmark, self.routine.parameters, settings, free)


class Catalog:
    """The declarations of all benchmarks of a native program, in the order of their names."""

    def __init__(self, benchmarks: Iterable[Benchmark]) -> None:
        self._by_name = {benchmark.name: benchmark for benchmark in sorted(benchmarks, key=lambda one: one.name)}
        self._parameters = {name: benchmark.parameter for name, benchmark in self._by_name.items()}

    def __iter__(self) -> Iterator[Benchmark]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Benchmark:
        """Return a benchmark; raises UsageError if there is none with this name."""
        if name not in self._by_name:
            known = ", ".join(self._by_name) or "nothing"
            raise UsageError(f"benchmarks.json: {name}: missing; declared: {known}")
        return self._by_name[name]

    @property
    def names(self) -> list[str]:
        """The names of all benchmarks."""
        return list(self._by_name)

    def get(self, name: str) -> Benchmark | None:
        """Return a benchmark; None if there is none with this name."""
        return self._by_name.get(name)

    def matching(self, patterns: Sequence[str]) -> list[Benchmark]:
        """Return the benchmarks that at least one of the patterns matches; all without patterns."""
        return [benchmark for benchmark in self if matches_any(benchmark.name, patterns)]

    def standing(self, pattern: Pattern, layer: str | None = None) -> list[Standing]:
        """Return the rungs of a pattern, on one layer or on all."""
        return [
            Standing(benchmark, rung)
            for benchmark in self
            for rung in benchmark.rungs
            if rung.pattern == pattern and layer in (None, rung.layer)
        ]

    def bound_to(self, routine: str, level: str = "mpi") -> list[Binding]:
        """Return the benchmarks of a level that represent an MPI routine, such as `MPI_Bcast`."""
        return [
            Binding(benchmark, binding)
            for benchmark in self
            if benchmark.level == level
            for binding in benchmark.routines
            if binding.routine == routine
        ]

    @property
    def routine_bindings(self) -> list[Routine]:
        """The declarations of benchmarks about the MPI routines that they represent."""
        return [routine for benchmark in self for routine in benchmark.routines]

    @property
    def routines(self) -> list[str]:
        """The MPI routines that have a benchmark."""
        return sorted({routine.routine for benchmark in self for routine in benchmark.routines})

    def of_role(self, benchmark: str, settings: Settings, *roles: Role) -> dict[str, Value]:
        """Return the parameters of a case with one of these roles; undeclared ones have the role `problem`."""
        declared = self._declared(benchmark)
        return {
            name: value
            for name, value in settings.items()
            if (declared[name].role if name in declared else "problem") in roles
        }

    def grid(self, benchmark: str, settings: Settings) -> dict[str, Value]:
        """Return the parameters that are extents of a process grid."""
        declared = self._declared(benchmark)
        return {
            name: value
            for name, value in self.of_role(benchmark, settings, "parallel").items()
            if declared[name].unit == GRID_UNIT
        }

    def size(self, benchmark: str, settings: Settings) -> int | None:
        """Return the size of a problem as one number; None if it has none, such as an NPB class."""
        numbers = map(extent, self.of_role(benchmark, settings, "size").values())
        return next((number for number in numbers if number is not None), None)

    def routine(self, benchmark: str) -> str:
        """Return the MPI routine that a benchmark represents first; empty if there is none."""
        routines = self[benchmark].routines if benchmark in self else []
        return routines[0].routine if routines else ""

    def array_bytes(self, benchmark: str, settings: Settings) -> int:
        """Return the size of the arrays of a memory case; without a size, its arrays are beyond all caches."""
        size = self.size(benchmark, settings)
        return BEYOND_CACHES if size is None else size

    def size_key(self, benchmark: str, settings: Settings) -> tuple[int, ...]:
        """Return a sort key for the sizes of a benchmark: choices in their declared order, numbers by value."""
        declared = self._declared(benchmark)
        return tuple(
            declared[name].choices.index(str(value)) if declared[name].choices else int(value)
            for name, value in self.of_role(benchmark, settings, "size").items()
        )

    def problem(self, benchmark: str, settings: Settings) -> tuple[object, ...]:
        """Return what is common to cases that compute the same problem in any way; hashable.

        Members of a family may declare different parameters, so problem parameters at their defaults are left out.
        """
        sizes = self.of_role(benchmark, settings, "size")
        problem = {
            name: value
            for name, value in self.of_role(benchmark, settings, "problem", "layout").items()
            if not self._is_default(benchmark, name, value)
        }
        return (self[benchmark].family, *sorted(sizes.items()), *sorted(problem.items()))

    def sequential(self, benchmark: str, settings: Settings) -> tuple[object, ...]:
        """Return what a case has in common with its sequential baseline: all that affects one rank."""
        kept = self.of_role(benchmark, settings, "size", "problem", "method", "layout", "call", "path")
        return (benchmark, *sorted(kept.items()))

    def defaults(self, benchmark: str) -> dict[str, Value]:
        """Return the parameters of the default case."""
        return {parameter.name: parameter.default for parameter in self[benchmark].parameters}

    def described(self, benchmark: str, settings: Settings) -> str:
        """Return the name of a case without ranks and placement: `ping-pong, 1 MiB`; see `differences`."""
        return ", ".join([self[benchmark].title, *self.differences(benchmark, settings)])

    def differences(self, benchmark: str, settings: Settings) -> list[str]:
        """Return the parameters of a case in words, in their declared order.

        Defaults are left out, except for sizes and for choices whose declaration has words.
        """
        phrases = [
            phrase(self._declared(benchmark).get(name), name, value)
            for name, value in self._ordered(benchmark, settings)
            if self._is_size(benchmark, name)
            or not self._is_default(benchmark, name, value)
            or self._is_worded_choice(benchmark, name)
        ]
        return [words for words in phrases if words]

    def parameter_label(self, name: str, benchmark: str | None = None) -> str:
        """Return the display name of a parameter: of one benchmark, or of the first benchmark that declares it."""
        candidates = [self[benchmark]] if benchmark in self._by_name else self
        found = (candidate.parameter[name].label for candidate in candidates if name in candidate.parameter)
        return next(found, name.replace("_", " "))

    def metric_label(self, name: str, benchmark: str | None = None) -> str:
        """Return the display name of a metric: of one benchmark, or of the first benchmark that declares it."""
        candidates = [self[benchmark]] if benchmark in self._by_name else self
        found = (candidate.metric[name].label for candidate in candidates if name in candidate.metric)
        return next(found, name.removesuffix("_s").replace("_", " "))

    def metric(self, benchmark: str, name: str) -> Metric | None:
        """Return the declaration of a metric; None if there is none."""
        described = self.get(benchmark)
        return described.metric.get(name) if described else None

    def time_metric(self, benchmark: str) -> str | None:
        """Return the metric that is the time of a whole case; None if there is none."""
        times = [
            metric.name
            for metric in self[benchmark].metrics
            if metric.quantity == "time" and metric.role == "result"
        ]
        return times[0] if times else None

    def _declared(self, benchmark: str) -> dict[str, Parameter]:
        return self._parameters[self[benchmark].name]

    def _ordered(self, benchmark: str, settings: Settings) -> list[tuple[str, Value]]:
        order = list(self._declared(benchmark))
        return sorted(settings.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))

    def _is_size(self, benchmark: str, name: str) -> bool:
        declared = self._declared(benchmark).get(name)
        return declared is not None and declared.role == "size"

    def _is_worded_choice(self, benchmark: str, name: str) -> bool:
        declared = self._declared(benchmark).get(name)
        return declared is not None and declared.type == "choice" and bool(declared.words)

    def _is_default(self, benchmark: str, name: str, value: Value) -> bool:
        declared = self._declared(benchmark).get(name)
        return declared is not None and declared.default == value


def write(path: Path, catalog: Iterable[Benchmark]) -> None:
    """Write `benchmarks.json`."""
    benchmarks = list(catalog)
    write_json(path, [benchmark.model_dump() for benchmark in benchmarks])
    _KNOWN[read_text(path)] = Catalog(benchmarks)


def read(path: Path) -> Catalog:
    """Read `benchmarks.json`; raises UsageError naming file, key and value."""
    text = read_text(path)
    if text not in _KNOWN:
        if len(_KNOWN) > 8:  # a server reads runs of many machines
            _KNOWN.clear()
        _KNOWN[text] = Catalog(read_json(path, list[Benchmark]))
    return _KNOWN[text]


def extent(size: Value) -> int | None:
    """Return a size as a number, also from a choice such as T42; None if it has none."""
    if isinstance(size, str):
        digits = _NUMBERED.fullmatch(size)
        return int(digits[1]) if digits else None
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def chosen(benchmark: Benchmark, wanted: Settings, settings: Settings, free: Iterable[str] = ()) -> bool:
    """Return whether parameters belong to a declared selection of cases.

    A parameter that the selection does not name must have its default, except for sizes and `free` parameters.
    """
    anything = set(free)
    for parameter in benchmark.parameters:
        if parameter.name in anything or parameter.name not in settings:
            continue
        if parameter.name in wanted:
            if wanted[parameter.name] not in (ANY, settings[parameter.name]):
                return False
        elif parameter.role != "size" and settings[parameter.name] != parameter.default:
            return False
    return True


def phrase(parameter: Parameter | None, name: str, value: Value) -> str:
    """Return one parameter in words: `1 MiB` for a size in bytes, `window 64`, `shared memory`.

    Empty if the declaration says that the choice needs no words.
    """
    if parameter is None:
        return f"{name.replace('_', ' ')} {value}"
    if parameter.words and value in parameter.choices:
        return parameter.words[parameter.choices.index(str(value))]
    if parameter.words and parameter.type == "integer":
        of_one_value = dict(word.split("=", 1) for word in parameter.words[:-1])
        return of_one_value.get(str(value)) or parameter.words[-1].replace("{}", _written(value))
    if parameter.unit == "B" and not isinstance(value, str):
        words = units.size(value)
        if parameter.role == "size":
            return words
        return f"{parameter.label} {words}" if value else f"default {parameter.label}"
    unit = "" if parameter.unit in ("", GRID_UNIT, DEVICE_UNIT) else f" {parameter.unit}"
    return f"{parameter.label} {_written(value)}{unit}"


def _written(value: Value) -> str:
    return units.grouped(value) if isinstance(value, int) else str(value).replace("_", " ")
