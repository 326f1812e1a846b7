"""`scope monitor`: any MPI program under the monitor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Output
from hpcscope.cli.settings import Given, takes
from hpcscope.settings.monitoring import MonitorSettings
from hpcscope.settings.table import declared

if TYPE_CHECKING:
    from typing import TextIO

    from hpcscope.report.profile.contents import ProfileContents


@takes(given=declared(MonitorSettings))
def command(
    words: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="For example: -- mpiexec -n 4 ./app input")
    ],
    output: Output = None,
    *,
    given: Given,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Measured run to compare with, or none; default: the newest run on these hosts."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the profile as JSON after the output of the program.")
    ] = False,
) -> None:
    """Run any MPI program, unchanged, and show where its time goes.

    The program's output and exit code are passed on; the report goes to standard error.
    """
    import gc

    from hpcscope.engine import monitor
    from hpcscope.programs.profiles.monitored_run import Options

    # Records have no cycles: the garbage collector finds nothing, yet takes a fifth of the time after the program.
    gc.disable()
    outcome = monitor.monitor(words, Options(**given), output, against)
    if outcome.problem:
        print(f"scope monitor: no profile: {outcome.problem}", file=sys.stderr)
        raise typer.Exit(outcome.code)
    if outcome.contents is None:
        print(f"scope monitor: {_no_profile(words, outcome.code)}", file=sys.stderr)
        raise typer.Exit(outcome.code or 1)
    show_profile(outcome.contents, sys.stderr)
    if json:
        typer.echo(outcome.contents.merged.model_dump_json())
    raise typer.Exit(outcome.code)


def show_profile(contents: ProfileContents, stream: TextIO | None = None) -> None:
    """Print a summary of a monitored run's profile."""
    from hpcscope.report.profile import text
    from hpcscope.report.terminal.console import console

    text.show(contents, console(stream) if stream else console())


def _no_profile(words: list[str], code: int) -> str:
    """Return the probable reason why no rank left a profile."""
    failed = f"the command failed (exit code {code}; see above), " if code else ""
    return (
        f"no rank of `{' '.join(words)}` left a profile. Likely causes: {failed}the program never calls MPI_Init "
        "or links MPI statically, the launcher drops LD_PRELOAD, or the command sets LD_PRELOAD itself"
    )
