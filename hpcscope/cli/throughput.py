"""`scope throughput`: a mix of jobs side by side."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import Json, Output, Resume
from hpcscope.cli.output import resumable
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.errors import UsageError
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.programs import MixSettings
from hpcscope.settings.table import chosen, declared


@takes(changes=(*declared(MixSettings), *chosen(Experiment, "hosts", "mpi", "seed")))
def command(
    mix: Annotated[
        Path | None, typer.Argument(metavar="MIX", help="TOML file with the jobs (docs/how-to/programs.md).")
    ] = None,
    *,
    changes: Given,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run a mix of jobs side by side: jobs per hour, turnaround times, utilization, efficiency.

    In every round, each job runs once alone, and all jobs of the mix run side by side on the slots of the hosts.
    Ctrl-C leaves a valid run; --resume measures the rounds that are missing.
    """
    from hpcscope.cli.progress import mix_progress
    from hpcscope.cli.show import show_run
    from hpcscope.engine import throughput
    from hpcscope.rundirectory import spelt

    if (mix is None) == (resume is None):
        raise UsageError("MIX or --resume DIR: exactly one of them must be given")
    with resumable("scope throughput"), mix_progress() as listener:
        if resume is not None:
            refuse_beside(resume, changes, output=output)
            done = throughput.resume(resume, listener)
        else:
            assert mix is not None
            done = throughput.run(mix, changes, output, sys.argv, listener)
    show_run(done.directory.path, json=json)
    if not json:
        typer.echo(f"report: {spelt(done.directory.report)}")
    raise typer.Exit(0 if done.well else 1)
