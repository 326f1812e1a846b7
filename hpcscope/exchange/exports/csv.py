"""All results as comma-separated values (RFC 4180): a line per result in base units, a column per parameter."""

import csv
import io
from collections.abc import Sequence

from hpcscope.catalog.benchmark import Value
from hpcscope.exchange.exports import hosts, parameter_names
from hpcscope.findings.results import Run
from hpcscope.visible import cell

FACTS = ("run", "hosts", "origin", "benchmark", "label", "ranks", "transport", "placement")
SAMPLES = "samples"
"""Column for `n` of `statistics.json`, renamed because many benchmarks have a parameter of that name."""
FIGURES = (
    *("metric", "unit", "better", "definition", "median", "ci_low", "ci_high", "interval_basis", "launches"),
    *("mean", "coefficient_of_variation", "minimum", "p05", "p25", "p75", "p95", "p99", "maximum"),
)


def write(runs: Sequence[Run]) -> str:
    """Return a line for each metric of each case; cells of parameters that a benchmark does not have are empty."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\r\n")
    names, rows = table(runs)
    lines.writerow(names)
    lines.writerows(["" if value is None else cell(value) for value in row] for row in rows)
    return text.getvalue()


def table(runs: Sequence[Run]) -> tuple[list[str], list[list[Value | None]]]:
    """Return the column names, and a row for each metric of each case; None is a missing value."""
    parameters = parameter_names(case for run in runs for case in run.headlines)
    rows: list[list[Value | None]] = []
    for run in runs:
        for summary in run.headlines:
            facts = [run.record.name, hosts(run), *(getattr(summary, name) for name in FACTS[2:-1])]
            given = [str(summary.placement), *(summary.parameters.get(name) for name in parameters)]
            rows.append([*facts, *given, *(getattr(summary, name) for name in FIGURES), summary.n])
    return [*FACTS, *parameters, *FIGURES, SAMPLES], rows
