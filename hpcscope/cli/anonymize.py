"""`scope anonymize`: a copy of a run without names of hosts, users, folders and addresses."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import RunFolder
from hpcscope.cli.output import confirm, display, grid
from hpcscope.cli.streams import one_line


def command(
    run: RunFolder,
    target: Annotated[Path, typer.Argument(metavar="NEW", help="Directory of the copy.", show_default=False)],
    word: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Another word to replace; may be repeated.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print each name and its replacement.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the copy without asking.")] = False,
) -> None:
    """Copy a run and replace all words that are not known to be harmless; values do not change.

    Equal words get the same replacement: host3 is the same host everywhere. Scope shows what the copy still
    reveals before it writes the copy.
    """
    from hpcscope.archive.anonymize import anonymized

    with anonymized(run, target, word or []) as copy:
        if names:
            rows = [[one_line(name), stand_in] for name, stand_in in copy.stand_ins.items()]
            display(grid(["name", "replacement"], rows))
        typer.echo(f"{len(copy.stand_ins)} words replaced{'' if names else ' (--names shows them)'}")
        typer.echo(f"Left out: {one_line(', '.join(copy.left_out)) or 'no file'}")
        typer.echo("\nInformation left in the copy:")
        for kind, values in copy.left.items():
            typer.echo(f"  {kind}: {one_line('; '.join(values[:5]))}{' ...' if len(values) > 5 else ''}")
        confirm("\nWrite the copy?", yes, "nothing was written; --yes writes without asking")
        copy.keep(target)
    typer.echo(f"{target}")
