"""`scope soak`: a program repeated for hours."""

import sys
from typing import Annotated

import typer

from hpcscope.cli.campaign import carry_out
from hpcscope.cli.options import Json, Output, Resume
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.programs import SoakSettings
from hpcscope.settings.table import chosen, declared


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

    Ctrl-C ends the soak early with a valid result; --resume continues for the remaining duration.
    """
    from hpcscope.engine import soak

    if resume is not None:
        refuse_beside(resume, options, given, program=program, output=output)
    asked = SoakSettings(**options)
    carry_out("soak", resume or soak.head_of(program or [], asked, given, sys.argv), output, json)
