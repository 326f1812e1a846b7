"""`scope describe NAME`: the specification, parameters, metrics and sweeps of one benchmark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json
from hpcscope.cli.output import print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.table import chosen

if TYPE_CHECKING:
    from hpcscope.catalog.benchmark import Benchmark, Parameter

PIPE_COLUMNS = 100


@takes(given=chosen(Experiment, "mpi"))
def command(
    name: Annotated[
        str,
        typer.Argument(metavar="BENCHMARK", help="Name of a benchmark, such as mpi.latency; see `scope list`."),
    ],
    *,
    given: Given,
    json: Json = False,
) -> None:
    """Explain one benchmark: what is timed, between which events, on whose clock, and by which rules."""
    from rich.markdown import Markdown

    from hpcscope.engine import benchmarks
    from hpcscope.report.terminal.console import console

    explained = benchmarks.explain(name, given.get("mpi"))
    if json:
        print_json({**explained.benchmark.model_dump(), "specification_text": explained.specification})
        return
    screen = console()
    screen.width = screen.width if sys.stdout.isatty() else PIPE_COLUMNS
    screen.print(Markdown(f"{explained.specification}\n\n{_declaration(explained.benchmark)}"))


def _declaration(benchmark: Benchmark) -> str:
    """Return the declaration of the benchmark, as Markdown."""
    parameters = [
        f"| {parameter.name} | {_allowed(parameter)} | {parameter.default} | {parameter.meaning} |"
        for parameter in benchmark.parameters
    ]
    metrics = [
        f"| {metric.name} | {metric.unit} | {metric.better} | {metric.definition.replace('_', ' ')} |"
        for metric in benchmark.metrics
    ]
    sweeps = [f"- **{sweep.module}**: `{sweep.cases}`" for sweep in benchmark.sweeps]
    sections = [
        "## Declaration",
        f"**{'Availability' if benchmark.available else 'Not available'}:** {benchmark.reason}\n"
        if benchmark.reason
        else "",
        f"Ranks: {benchmark.ranks.description}. Source: `measure/src/benchmarks/{benchmark.source}`.\n",
        "| parameter | allowed | default | meaning |\n|---|---|---|---|" if parameters else "",
        *parameters,
        "\n| metric | unit | better | definition of time |\n|---|---|---|---|",
        *metrics,
        "\nSweeps:\n",
        *sweeps,
    ]
    return "\n".join(section for section in sections if section)


def _allowed(parameter: Parameter) -> str:
    if parameter.type == "choice":
        return ", ".join(parameter.choices)
    unit = f" {parameter.unit}" if parameter.unit else ""
    return f"{parameter.minimum} to {parameter.maximum}{unit}"
