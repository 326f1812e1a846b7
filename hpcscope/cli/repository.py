"""`scope repository`: runs that are kept; add, find, note, check and exchange them."""

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
from hpcscope.units import count, interval, named, quantity
from hpcscope.units import named as in_words

if TYPE_CHECKING:
    from hpcscope.archive.entry import Entry
    from hpcscope.archive.repository import DamagedRun, Exchanged, Repository

Place = Annotated[
    Path | None,
    typer.Option("--in", metavar="DIR", help="Default: $SCOPE_REPOSITORY, or ~/.local/share/scope/repository."),
]
Ids = Annotated[list[str], typer.Argument(metavar="RUN", help="First digits of ids, or latest.")]
Id = Annotated[str, typer.Argument(metavar="RUN", help="First digits of an id, or latest.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.")]
Cluster = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the cluster.")]


def add(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories, or packed runs.")],
    tag: Tags = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="A note on the runs.")] = "",
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the cluster; default: its name in earlier runs."),
    ] = None,
    folder: Place = None,
) -> None:
    """Keep runs, each as one compact file.

    A run that is already kept gets the tags and the note.
    """
    repository = _opened(folder, make=True)
    for entry, new in repository.add(runs, tag or [], note, cluster):
        size = f", {quantity(entry.size_bytes, 'B')}" if new else ", kept already"
        typer.echo(f"{entry.id}  {entry.name} of {entry.notes.cluster}{size}")


def list_runs(
    cluster: Cluster = None,
    tag: Tags = None,
    name: Annotated[str, typer.Option(metavar="PATTERN", help="Only runs whose name matches PATTERN.")] = "",
    benchmark: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only runs that measured a benchmark matching PATTERN.")
    ] = "",
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Runs since DATE, such as 2026-03-01.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Runs before DATE.")] = None,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Only the newest N runs.")] = 50,
    folder: Place = None,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from hpcscope.archive.index import RunChoice, as_json

    choice = RunChoice(
        cluster=cluster or "",
        name=name,
        tags=tag or [],
        benchmark=benchmark,
        since_unix_s=_day("--since", since),
        until_unix_s=_day("--until", until),
        most=most,
    )
    entries = _opened(folder).chosen(choice)
    if json:
        print_json([as_json(entry) for entry in entries])
    else:
        _print(entries)


def show(run: Id, folder: Place = None, json: Json = False) -> None:
    """Print a run and its values from the index."""
    from hpcscope.archive.index import as_json, one_of_each_case

    entry, figures = _opened(folder).with_figures(run)
    if json:
        print_json({**as_json(entry), "figures": [kept.model_dump() for kept in figures]})
        return
    rows = [
        ["run", entry.id],
        ["name", entry.name],
        ["command", entry.command],
        ["cluster", f"{entry.notes.cluster} (machines {entry.fingerprint})"],
        ["hosts", few_hosts(entry.hosts)],
        ["processor", entry.processor],
        ["kernel", entry.kernel],
        ["mpi", entry.mpi],
        ["started", when(entry.started_unix_s)],
        ["status", entry.status],
        ["tags", ", ".join(entry.notes.tags)],
        ["note", entry.notes.note],
        ["added", f"{when(entry.notes.added_unix_s)} by {entry.notes.added_by}"],
        ["file", quantity(entry.size_bytes, "B")],
    ]
    display(grid(["", ""], [[name, one_line(value)] for name, value in rows if value]))
    table = [
        [named(kept.metric), one_line(kept.label), interval(kept.median, kept.low, kept.high, kept.unit)]
        for kept in one_of_each_case(figures)
    ]
    display(grid(["value", "case", "median [95 % CI]"], table))
    if entry.module == "health":
        from hpcscope.archive import earlier_checks, packing
        from hpcscope.cli.health import show as show_health
        from hpcscope.engine import health

        with packing.opened(_opened(folder).file(run)) as unpacked:
            record, _, judged = health.read_judged(unpacked, earlier_checks.kept(folder))
        show_health(record, judged, json=False)


def note(
    run: Id,
    tag: Tags = None,
    untag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Remove a tag.")] = None,
    text: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="The note on the run.")] = None,
    cluster: Cluster = None,
    folder: Place = None,
) -> None:
    """Change tags, note and cluster of a run."""
    _print([_opened(folder).note(run, tag or [], untag or [], text, cluster)])


def unpack(
    run: Id,
    target: Annotated[Path, typer.Option("--to", metavar="DIR", help="Directory for the run.")] = Path("runs"),
    folder: Place = None,
) -> None:
    """Restore the directory of a run, below runs/."""
    from hpcscope.archive import packing

    typer.echo(str(packing.unpack(_opened(folder).file(run), target)))


def path(run: Id, folder: Place = None) -> None:
    """Print the file of a run.

    `scope show`, `report`, `compare` and `predict` read the file as it is.
    """
    typer.echo(str(_opened(folder).file(run)))


def remove(runs: Ids, folder: Place = None, yes: Yes = False) -> None:
    """Remove runs and the notes on them from the repository."""
    repository = _opened(folder)
    _print([repository.named(run) for run in runs])
    confirm_removal(count(len(runs), "run"), yes)
    repository.remove(runs)


def verify(folder: Place = None) -> None:
    """Compare all files with their checksums and with the index.

    The exit code is 1 if a file is wrong.
    """
    repository = _opened(folder)
    _end(repository.verify(), f"{count(len(repository.folder.ids()), 'run')}: no file has changed")


def rebuild(
    folder: Place = None,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Where to keep the index: postgresql://HOST/DATABASE, or sqlite (a file in the repository).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Rebuild the index from the files.

    Damaged files are listed and skipped.
    """
    repository = _opened(folder)
    _end(repository.rebuild(index), f"{count(len(repository.folder.ids()), 'run')} in the index")


def push(
    target: Annotated[str, typer.Argument(metavar="PATH", help="A directory, or HOST:DIR by rsync.")],
    folder: Place = None,
) -> None:
    """Copy runs to another repository, unless it already has them.

    Notes that are newer here are copied too.
    """
    _print_exchanged(_opened(folder).push(target))


def pull(
    source: Annotated[
        str, typer.Argument(metavar="PATH", help="Directory of a repository, or HOST:DIR (copied with rsync).")
    ],
    folder: Place = None,
) -> None:
    """Copy missing runs from another repository.

    Notes that are newer there are copied too.
    """
    _print_exchanged(_opened(folder, make=True).pull(source))


def published(
    machine: Annotated[
        str | None, typer.Argument(metavar="MACHINE", help="Machine whose values to print.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List historic machines, or print the values of one.

    `scope site` lists these machines next to the clusters.
    """
    from hpcscope.models.published.machines import machines, named
    from hpcscope.report.terminal.console import console

    if machine is None:
        if json:
            print_json([{"machine": old.id, "name": old.name, **dict(old.sheet)} for old in machines()])
            return
        rows = [[old.id, old.name, old.facts.network, str(len(old.figures)), old.source] for old in machines()]
        heads = ["machine", "name", "network", "values", "published in"]
        display(grid(heads, rows, breaks=(1, 2, 4)), breaks=True)
        return
    found = named(machine)
    if json:
        print_json([{"case": value.label, **asdict(value), "better": value.better} for value in found.figures])
        return
    screen = console(breaks=True)
    screen.print(grid(["", ""], [list(row) for row in found.sheet], breaks=(1,)))
    table = [
        [in_words(value.metric), value.label, quantity(value.value, value.unit), value.where]
        for value in found.figures
    ]
    screen.print(grid(["value", "case", "published", "where"], table, breaks=(1, 3)))


COMMANDS = {
    "add": add,
    "list": list_runs,
    "show": show,
    "note": note,
    "path": path,
    "unpack": unpack,
    "remove": remove,
    "verify": verify,
    "rebuild": rebuild,
    "push": push,
    "pull": pull,
    "published": published,
}


def _opened(folder: Path | None, make: bool = False) -> Repository:
    from hpcscope.archive.repository import Repository

    return Repository(folder, make)


def _print_exchanged(exchanged: Exchanged) -> None:
    words = [f"{count(exchanged.runs, 'run')} copied"] if exchanged.runs else []
    words += [f"newer notes on {count(exchanged.notes, 'run')}"] if exchanged.notes else []
    _end(exchanged.damaged, "; ".join(words) or "nothing more to copy")


def _end(problems: Sequence[DamagedRun], well: str) -> None:
    for problem in problems:
        typer.echo(f"{problem.id}: {one_line(problem.what)}", err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(well)


def _print(runs: Sequence[Entry]) -> None:
    rows = [
        [
            entry.id[:8],
            when(entry.started_unix_s),
            one_line(entry.notes.cluster),
            one_line(entry.name)[:40],
            few_hosts(entry.hosts),
            one_line(entry.mpi),
            entry.status,
            ", ".join(entry.notes.tags),
            one_line(entry.notes.note)[:40],
        ]
        for entry in runs
    ]
    heads = ["run", "started", "cluster", "name", "hosts", "mpi", "status", "tags", "note"]
    display(grid(heads, rows), whole=True)


def _day(option: str, text: str | None) -> float | None:
    from datetime import datetime

    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise UsageError(f"{option} {text}: must be a date, such as 2026-03-01 or 2026-03-01T12:00") from error
