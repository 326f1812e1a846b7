"""`scope placement`: the cost of sharing a node."""

import sys
from typing import Annotated

import typer

from hpcscope.cli.campaign import carry_out
from hpcscope.cli.options import Json, Output, Resume
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.programs import PlacementSettings
from hpcscope.settings.table import chosen, declared


@takes(options=declared(PlacementSettings), given=chosen(Experiment, "hosts", "hostfile", "mpi", "seed"))
def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM...", help="The program, without mpiexec: Scope starts its ranks."),
    ] = None,
    *,
    options: Given,
    given: Given,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run a program packed on few nodes and spread over many, and explain the cost of packing.

    Packed runs have the same number of ranks on fewer nodes, or more ranks on the same nodes. Scope splits the
    difference into computation (contention for memory) and communication. On one host, sockets stand for nodes.
    """
    from hpcscope.engine import placement

    if resume is not None:
        refuse_beside(resume, options, given, program=program, output=output)
    asked = PlacementSettings(**options)
    carry_out("placement", resume or placement.head_of(program or [], asked, given, sys.argv), output, json)
