"""`scope unpack`: the folder of a packed run."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `scope pack` wrote.")],
    folder: Annotated[Path, typer.Option("--in", metavar="DIR", help="The directory of the runs.")] = Path("runs"),
) -> None:
    """Unpack a packed run into its own directory below runs/, and print that directory.

    All commands can read the directory; only the user who started a run can resume it.
    """
    from hpcscope.archive import packing

    typer.echo(packing.unpack(file, folder))
