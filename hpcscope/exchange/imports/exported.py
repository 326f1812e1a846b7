"""Values read back from Scope's own exports: medians with everything that the format holds of their summaries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.declared import declared as of_scope
from hpcscope.exchange.imports import PrintedFigure, declared, metric, parameter
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.plan.case import Case
from hpcscope.statistics.summary import Summary

_CASE = {*Case.model_fields, "metric", "unit", "better", "definition", "primary", "origin", "valid", "reason"}
KEPT = [name for name in Summary.model_fields if name not in _CASE and name != "printed"]
"""Keys of a summary that do not identify its case, metric or origin."""
_ABSENT: dict[str, Any] = {
    **{"label": "", "primary": True, "valid": True, "reason": "", "launch_medians": []},
    "invalid_share": 0.0,
}
"""Values for keys that a format lacks, so that the keys that it holds can be validated."""


def figure(held: Mapping[str, Any], line: int) -> PrintedFigure | None:
    """Return the value of a summary from the keys that a format holds; None if they are not a valid summary."""
    required = [name for name, field_ in Summary.model_fields.items() if field_.is_required()]
    try:
        whole = Summary.model_validate({**{name: _ABSENT.get(name) for name in required}, **held})
    except ValidationError:
        return None
    if whole.median is None or whole.ranks < 1:
        return None
    known = whole.model_dump(mode="json")
    # Without the median of each launch, their number is useless: there is a single value for all.
    unknown = set() if "launch_medians" in held else {"launches"}
    kept = {name: known[name] for name in KEPT if name in held and name not in unknown}
    if "relative_interval" not in held and whole.ci_low is not None and whole.ci_high is not None and whole.median:
        kept["relative_interval"] = (whole.ci_high - whole.ci_low) / 2 / whole.median
    return PrintedFigure(
        benchmark=whole.benchmark,
        parameters=dict(whole.parameters),
        ranks=whole.ranks,
        metric=whole.metric,
        values=(whole.median,),
        statistic="median",
        line=line,
        definition=None if whole.definition == "observed" else whole.definition,
        repetitions=whole.n or None,
        transport=whole.transport,
        placement=whole.placement,
        origin="imported" if whole.origin == "measured" else whole.origin,
        summary=kept,
    )


def undeclared(figures: Sequence[tuple[PrintedFigure, str, str]]) -> list[Benchmark]:
    """Return declarations for benchmarks that this version lacks, from values with unit and better direction."""
    known: Catalog = of_scope()
    benchmarks = []
    for name in dict.fromkeys(printed.benchmark for printed, _, _ in figures):
        cases = [(printed, unit, better) for printed, unit, better in figures if printed.benchmark == name]
        if name in known and all(_fits(known[name], printed) for printed, _, _ in cases):
            continue
        metrics = {
            printed.metric: metric(printed.metric, unit, printed.metric, better) for printed, unit, better in cases
        }
        values: dict[str, list[Any]] = {}
        for printed_figure, _, _ in cases:
            for key, value in printed_figure.parameters.items():
                values.setdefault(key, []).append(value)
        title = name.rpartition(".")[2].replace("_", " ")
        parameters = [parameter(key, key.replace("_", " "), each) for key, each in values.items()]
        benchmarks.append(declared(name, title, "", list(metrics.values()), parameters))
    return benchmarks


def _fits(benchmark: Benchmark, printed: PrintedFigure) -> bool:
    return printed.metric in benchmark.metric and set(printed.parameters) <= set(benchmark.parameter)


@dataclass
class ExportReader(LineReader):
    """Reads the summaries in an export of Scope; a format passes them to `_summary`."""

    _found: list[tuple[PrintedFigure, str, str]] = field(default_factory=list)
    """Values with their units and better directions."""
    _runs: dict[str, None] = field(default_factory=dict)
    _hosts: dict[str, None] = field(default_factory=dict)
    """All values of a run name its hosts; each is kept once."""

    def _summary(self, held: Mapping[str, Any], line: int, run: str, hosts: Iterable[str]) -> bool:
        """Add the value of a summary; return whether it is valid."""
        printed = figure(held, line)
        if printed is None:
            return False
        self._found.append((printed, held["unit"], held["better"]))
        self._runs[run] = None
        self._hosts |= dict.fromkeys(hosts)
        return True

    def close(self) -> None:
        """Name the runs, and declare the benchmarks that this version lacks."""
        self.figures = [printed for printed, _, _ in self._found]
        self.benchmarks = undeclared(self._found)
        self.hosts = list(self._hosts)
        self.versions = [f"run {', '.join(self._runs)}"] if self._runs else []
