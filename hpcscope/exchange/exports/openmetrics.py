"""Gauges for Prometheus: OpenMetrics text, which node_exporter's textfile collector reads, too.

Each metric is a gauge whose name ends with its unit, as `scope_latency_seconds`; interval bounds are gauges, too.
Lines have no time stamps, which that collector refuses; the end of the run is a gauge. Only `scope_run_info` is
labeled with the run's name, so that a later run continues the series of the previous run.
https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from collections.abc import Mapping, Sequence

from hpcscope.exchange.exports import only
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary

_UNITS = {
    "s": ("_s", "seconds"),
    "B/s": ("_bytes_per_s", "bytes_per_second"),
    "flop/s": ("_per_s", "per_second"),
    "1/s": ("_per_s", "per_second"),
}
"""Suffix of each unit in Scope's metric names, and in Prometheus's names, which spell out base units."""
_FIGURES = {"": "median", "low": "ci_low", "high": "ci_high"}
_MEANINGS = {"": "median", "low": "lower end of the 95 % CI", "high": "upper end of the 95 % CI"}


def write(runs: Sequence[Run]) -> str:
    """Return the gauges of one run; all lines of one gauge are adjacent."""
    run = only(runs, "openmetrics")
    gauges: dict[str, list[str]] = {}
    about = {"run": run.record.name, "status": run.record.status, "scope_version": run.record.scope_version}
    add(gauges, "scope_run_info", "run that the other gauges describe", about, 1)
    add(gauges, "scope_run_finished_timestamp_seconds", "time of the run's end", {}, run.record.finished_unix_s)
    add(gauges, "scope_run_hosts", "number of hosts of the run", {}, len(run.machine.hosts))
    for case in run.headlines:
        for part, name in _FIGURES.items():
            meaning = f"{run.benchmarks.metric_label(case.metric, case.benchmark)}, {_MEANINGS[part]}"
            add(gauges, _name(case, part), meaning, _labels(case), getattr(case, name))
    return "".join(line + "\n" for lines in gauges.values() for line in lines) + "# EOF\n"


def add(
    gauges: dict[str, list[str]], name: str, meaning: str, labels: Mapping[str, object], value: float | None
) -> None:
    """Add one line to the gauge of this name; a missing value adds nothing."""
    if value is None:
        return
    lines = gauges.setdefault(name, [f"# HELP {name} {_escaped(meaning)}", f"# TYPE {name} gauge"])
    words = ",".join(f'{key}="{_escaped(str(text))}"' for key, text in labels.items())
    lines.append(f"{name}{{{words}}} {value!r}" if words else f"{name} {value!r}")


def _name(case: Summary, part: str) -> str:
    ending, written = _UNITS.get(case.unit, ("", ""))
    stem = case.metric.removesuffix(ending) if written else case.metric
    return "_".join(word for word in ("scope", stem, part, written) if word)


def _labels(case: Summary) -> dict[str, object]:
    where = {
        "ranks": case.ranks,
        "transport": case.transport,
        "placement": str(case.placement),
        "origin": case.origin,
    }
    return {"benchmark": case.benchmark, **where, **case.parameters}


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
