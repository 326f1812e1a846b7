"""`scope import`: profiles that other tools made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scope.cli.options import Output


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A report of mpiP (*.mpiP).")],
    output: Output = None,
) -> None:
    """Import a profile of another tool as a monitored run, and show it.

    Quantities that the other tool does not count stay unknown. mpiP: https://github.com/LLNL/mpiP
    """
    from scope.cli.monitor import show_profile
    from scope.engine import monitor

    show_profile(monitor.import_profile(file, output))
