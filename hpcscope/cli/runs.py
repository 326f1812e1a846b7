"""`scope runs`: what was measured here; list, open and remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json, Yes
from hpcscope.cli.output import confirm_removal, display, few_hosts, grid, print_json, when
from hpcscope.cli.streams import one_line
from hpcscope.errors import UsageError
from hpcscope.units import quantity

if TYPE_CHECKING:
    from hpcscope.archive.runs import KeptRun

Folder = Annotated[Path, typer.Option("--in", metavar="DIR", help="The directory of the runs.")]
RUNS = Path("runs")


def list_runs(folder: Folder = RUNS, json: Json = False) -> None:
    """List the runs, newest first.

    For each run, the list has its start, benchmarks, hosts, status, and the size of its directory.
    """
    from hpcscope.archive import runs as kept_runs

    runs = kept_runs.listed(folder)
    if json:
        print_json([asdict(run) | {"path": str(run.path)} for run in runs])
        return
    _print(runs)
    if packed := kept_runs.packed(folder):
        files = f"{packed[0]}" if len(packed) == 1 else f"{len(packed)} files, {packed[0]} to {packed[-1]}"
        typer.echo(f"Packed runs are not listed ({one_line(files)}). `scope show FILE` shows a packed run.")


def open_report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, or its directory.")] = "latest",
    folder: Folder = RUNS,
) -> None:
    """Open the report of a run in the browser, and print its path."""
    import webbrowser

    from hpcscope.archive import runs as kept_runs

    report = kept_runs.named(folder, run).report.absolute()
    if not report.exists():
        raise UsageError(f"{report}: does not exist; `scope report` writes it")
    print(report)
    webbrowser.open(report.as_uri())


def remove_runs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Names of runs, or their directories.")],
    folder: Folder = RUNS,
    yes: Yes = False,
) -> None:
    """Remove runs, with everything in their directories."""
    from hpcscope.archive import runs as kept_runs

    _remove([kept_runs.named(folder, name) for name in runs], yes)


def prune(
    keep: Annotated[int | None, typer.Option(metavar="N", min=0, help="Keep the newest N runs.")] = None,
    older: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Keep the runs of the last DAYS days.")
    ] = None,
    folder: Folder = RUNS,
    yes: Yes = False,
) -> None:
    """Remove the old runs that --keep and --older select.

    --keep N selects all runs except the newest N; --older DAYS selects all runs from before the last DAYS days.
    With both options, only runs that both select are removed.
    """
    from hpcscope.archive import runs as kept_runs

    if keep is None and older is None:
        raise UsageError("--keep or --older: one of them must say which runs to keep")
    old = kept_runs.outdated(kept_runs.listed(folder), keep, older)
    if old:
        _remove(old, yes)
    else:
        print("nothing to remove")


def _remove(runs: Sequence[KeptRun], yes: bool) -> None:
    from hpcscope.archive import runs as kept_runs

    _print(runs)
    total = quantity(sum(run.size_bytes for run in runs), "B")
    confirm_removal(f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}, {total}", yes)
    for run in runs:
        kept_runs.remove(run)


def _print(runs: Sequence[KeptRun]) -> None:
    rows = [
        [
            when(run.started_unix_s),
            run.kind,
            one_line(run.name)[:40],
            few_hosts(run.hosts),
            run.status,
            quantity(run.size_bytes, "B"),
            one_line(str(run.path)),
        ]
        for run in runs
    ]
    display(grid(["started", "kind", "name", "hosts", "status", "size", "folder"], rows), whole=True)


COMMANDS = {"list": list_runs, "open": open_report, "remove": remove_runs, "prune": prune}
