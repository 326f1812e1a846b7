"""`scope serve`: the pages of a repository from this host, with runs in progress."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.repository import Place


def command(
    folder: Place = None,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="The directory of runs in progress.")] = Path("runs"),
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free port.")] = 8080,
    uploads: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Accept uploads of packed runs (PUT /runs), check them, and store them in DIR.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the pages of `scope site`, always up to date, and the runs in progress, until Ctrl-C.

    The printed address contains a token; requests without it are refused. $SCOPE_TOKEN sets the token.
    Connections are not encrypted: from other hosts, use ssh -L or an HTTPS reverse proxy.
    """
    from hpcscope.archive.repository import Repository
    from hpcscope.archive.serve.server import serve

    serve(Repository(folder), runs, host, port, uploads, lambda address: typer.echo(address))
