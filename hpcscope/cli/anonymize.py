"""`scope anonymize`: a copy of a run without names of hosts, users, folders and addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import RunFolder
from hpcscope.cli.output import display, grid
from hpcscope.cli.streams import one_line


def command(
    run: RunFolder,
    target: Annotated[Path, typer.Argument(metavar="NEW_FOLDER", help="Folder of the copy.", show_default=False)],
    word: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A further word to replace; may be repeated.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print each name and its stand-in.")] = False,
) -> None:
    """Copy a run with stand-ins for hosts, users, folders and addresses, and print what the copy still tells.

    Equal names become equal stand-ins: host3 is the same host everywhere. Figures stay as they are.
    """
    from hpcscope.archive.anonymize import anonymize

    done = anonymize(run, target, word or [])
    typer.echo(f"{done.folder}: {len(done.stand_ins)} names replaced{'' if names else ' (--names shows them)'}")
    if names:
        rows = [[one_line(name), stand_in] for name, stand_in in done.stand_ins.items()]
        display(grid(["name", "stand-in"], rows))
    typer.echo("\nLeft as it is; read it before you send the copy:")
    for kind, values in done.left.items():
        typer.echo(f"  {kind}: {one_line('; '.join(values[:5]))}{' ...' if len(values) > 5 else ''}")
