"""`scope describe NAME`: one benchmark's specification, parameters, figures and sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.build.registry import BenchmarkDescription, ParameterDescription

PIPE_COLUMNS = 100


def command(
    name: Annotated[str, typer.Argument(help="A benchmark, for example mpi.latency.")],
    mpi: Annotated[str | None, typer.Option(help="The MPI whose build is asked.")] = None,
    json: Annotated[bool, typer.Option("--json", help="An object instead of text.")] = False,
) -> None:
    """Explain one benchmark: what is timed, between which events, on whose clock, and by which rules."""
    import json as writer
    import sys

    from rich.console import Console
    from rich.markdown import Markdown

    from scope.build import installations, native, registry
    from scope.cli.run import built
    from scope.errors import UsageError
    from scope.plan.experiment import did_you_mean
    from scope.rundirectory import read_text

    known = {each.name: each for each in registry.load(built(installations.find(mpi)).program)}
    if name not in known:
        near = did_you_mean(name, list(known))
        raise UsageError(f"{name}: unknown benchmark; must be one of {', '.join(known)}{near}")
    benchmark = known[name]
    specification = read_text(native.source_directory() / "src" / "benchmarks" / benchmark.specification)
    if json:
        print(writer.dumps({**benchmark.model_dump(), "specification_text": specification}, indent=1))
        return
    screen = Console(width=None if sys.stdout.isatty() else PIPE_COLUMNS)
    screen.print(Markdown(f"{specification}\n\n{_registered(benchmark)}"))


def _registered(benchmark: BenchmarkDescription) -> str:
    """Return what the registry says, as Markdown."""
    parameters = [
        f"| {each.name} | {_allowed(each)} | {each.default} | {each.meaning} |" for each in benchmark.parameters
    ]
    metrics = [
        f"| {each.name} | {each.unit} | {each.better} | {each.definition.replace('_', ' ')} |"
        for each in benchmark.metrics
    ]
    sweeps = [f"- **{each.module}**: `{each.cases}`" for each in benchmark.sweeps]
    sections = [
        "## As registered",
        "" if benchmark.available else f"**Not available:** {benchmark.reason}\n",
        f"Ranks: {_ranks(benchmark)}. Source: `measure/src/benchmarks/{benchmark.source}`.\n",
        "| parameter | allowed | default | meaning |\n|---|---|---|---|" if parameters else "",
        *parameters,
        "\n| figure | unit | better | time is |\n|---|---|---|---|",
        *metrics,
        "\nSweeps:\n",
        *sweeps,
    ]
    return "\n".join(section for section in sections if section)


def _allowed(parameter: ParameterDescription) -> str:
    if parameter.type == "choice":
        return ", ".join(parameter.choices)
    unit = f" {parameter.unit}" if parameter.unit else ""
    return f"{parameter.minimum} to {parameter.maximum}{unit}"


def _ranks(benchmark: BenchmarkDescription) -> str:
    from scope.plan.sweep import allowed_ranks

    return allowed_ranks(benchmark)
