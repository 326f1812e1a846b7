"""`scope soak`: a program repeated for hours."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from scope.cli.options import Json, Output, Resume
from scope.cli.output import resumable
from scope.cli.settings import Given, refuse_beside, takes
from scope.settings.experiment import Experiment
from scope.settings.programs import SoakSettings
from scope.settings.table import chosen, declared


@takes(options=declared(SoakSettings), given=chosen(Experiment, "hosts", "oversubscribe", "mpi"))
def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- PROGRAM...", help="A program, or a whole command that begins with mpiexec or srun."
        ),
    ] = None,
    *,
    options: Given,
    given: Given,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Repeat a program and count its failures: errors, wrong results, drift of its time, memory leaks.

    Ctrl-C ends the soak early with a valid result; --resume goes on for the rest of its duration.
    """
    from scope.cli.campaign import show
    from scope.cli.progress import campaign_progress
    from scope.engine import campaign, soak

    with resumable("scope soak"):
        if resume is not None:
            refuse_beside(resume, options, given, program=program, output=output)
            result = campaign.resume("soak", resume, campaign_progress)
        else:
            asked = SoakSettings(**options)
            result = soak.run(program or [], asked, given, output, campaign_progress, sys.argv)
    show(result, json)
    raise typer.Exit(0 if result.well else 1)
