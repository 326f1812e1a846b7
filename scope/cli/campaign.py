"""`scope campaign`: a study, many runs of a program, and what they show together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from scope.campaign.analysis import Analysis
    from scope.campaign.campaign import Listener
    from scope.campaign.folder import CampaignFolder, Head, Kind
    from scope.campaign.record import RunRecord
    from scope.campaign.starting import Starter
    from scope.findings.finding import Finding

Output = Annotated[Path | None, typer.Option("--output", "-o", help="The folder of the results.")]
Hosts = Annotated[str | None, typer.Option(help="a:2,b:2 - hosts and their slots, separated by commas.")]
Resume = Annotated[Path | None, typer.Option(help="Go on with this one; it keeps all its settings.")]
Json = Annotated[bool, typer.Option("--json", help="An object instead of tables.")]
Mpi = Annotated[str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx.")]


def command(
    study: Annotated[Path | None, typer.Argument(help="study.toml", show_default=False)] = None,
    output: Output = None,
    resume: Resume = None,
    repetitions: Annotated[int | None, typer.Option(help="Of each point, instead of the study's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random order.")] = None,
    mpi: Mpi = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs in their order, start none.")] = False,
    json: Json = False,
) -> None:
    """Run a program over parameters, process counts, placements and transports, each run under the monitor.

    Then: the table of runs, wall-clock beside processor's time, Amdahl's law, how times grow, and groups of runs
    that behave alike. --resume on a campaign that is finished derives all of this anew.
    """
    import sys

    from scope.campaign import folder as folders
    from scope.campaign.study import read
    from scope.errors import UsageError

    if (study is None) == (resume is None):
        raise UsageError("give a study (a .toml file), or --resume DIR")
    if resume is not None:
        refuse_beside_resume({"--output": output, "--repetitions": repetitions, "--seed": seed, "--mpi": mpi})
        raise typer.Exit(go_on("campaign", resume, json))
    assert study is not None
    asked = read(study, {"repetitions": repetitions, "seed": seed, "mpi": mpi})
    head = folders.head_of("campaign", asked, sys.argv)
    if dry_run:
        print_runs(head)
        return
    raise typer.Exit(start(head, str(study), output, json))


def refuse_beside_resume(given: dict[str, object]) -> None:
    """Raise UsageError where a setting is given beside --resume."""
    from scope.errors import UsageError

    if named := [name for name, value in given.items() if value]:
        raise UsageError(f"{named[0]}: must not be given beside --resume, which keeps all settings")


def start(head: Head, where: str, output: Path | None, json: bool) -> int:
    """Begin a campaign, carry it out, show what came of it; return the exit code."""
    from scope.campaign import folder as folders
    from scope.campaign.starting import starter

    ready = starter(head.study, where)
    folder = folders.new(head.kind, head.study.name, output)
    folders.begin(folder, head)
    return carry_out(folder, head, lambda: ready, json)


def go_on(kind: Kind, path: Path, json: bool) -> int:
    """Go on with a campaign that was begun; of one that is finished everything is derived anew."""
    from scope.campaign import folder as folders
    from scope.campaign.starting import starter
    from scope.errors import UsageError

    folder = folders.CampaignFolder(path.absolute())
    head = folders.read(folder, kind)
    if head.status != "finished" and head.lab != folders.lab_here():
        raise UsageError(f"{path}: was begun {f'in the lab {head.lab}' if head.lab else 'outside of any lab'}")
    return carry_out(folder, head, lambda: starter(head.study, str(folder.head)), json)


def carry_out(folder: CampaignFolder, head: Head, ready: Callable[[], Starter], json: bool) -> int:
    """Do the runs that a campaign lacks, derive, show; return the exit code."""
    import sys

    from scope.campaign import campaign
    from scope.cli.run import ending_on_request
    from scope.errors import ScopeError
    from scope.launch.run import held
    from scope.rundirectory import RunDirectory, spelt

    if head.status != "finished":
        with held(RunDirectory(folder.path)), ending_on_request(), listening(head) as listener:
            try:
                campaign.run(folder, head, ready(), listener)
            except ScopeError:
                derive(folder)
                print(f"continue with: scope {head.kind} --resume {spelt(folder.path)}", file=sys.stderr)
                raise
    analysis, findings = derive(folder)
    show(folder, analysis, findings, json)
    return 0 if analysis.runs and analysis.well == analysis.runs else 1


def derive(folder: CampaignFolder) -> tuple[Analysis, list[Finding]]:
    """Derive analysis, findings and page from the records, and write them down."""
    from scope.campaign import folder as folders
    from scope.campaign.analysis import analyse
    from scope.campaign.record import read
    from scope.findings.campaign import find_all
    from scope.findings.campaign.facts import Facts
    from scope.findings.finding import Findings
    from scope.report.campaign import page as campaign_page
    from scope.rundirectory import FORMAT, write_json, write_text

    head = folders.read(folder)
    analysis = analyse(head, read(folder.records))
    findings = find_all(Facts(head, analysis))
    write_json(folder.analysis, analysis)
    write_json(folder.findings, Findings(format=FORMAT, findings=findings))
    write_text(folder.report, campaign_page.render(head, analysis, findings))
    return analysis, findings


def show(folder: CampaignFolder, analysis: Analysis, findings: list[Finding], json: bool) -> None:
    """Print what a campaign shows."""
    from scope.campaign import folder as folders
    from scope.report.campaign.sections import lead, sections, verdicts
    from scope.report.terminal.console import console
    from scope.rundirectory import spelt

    head = folders.read(folder)
    if json:
        print_json(folder, head, analysis, findings)
        return
    from rich.text import Text

    out = console()
    for text in (f"{head.kind} {head.study.name}: {lead(head, analysis)}", *verdicts(analysis), *head.notes):
        out.print(Text(text))
    for section in sections(head, analysis):
        out.print(Text(f"\n{section.title}"))
        out.print(grid(section.table.columns, section.table.rows))
        out.print(Text(section.caption))
    if analysis.absent:
        out.print(Text("\n" + "\n".join(f"{why}." for why in analysis.absent)))
    for finding in findings:
        out.print(Text(f"\n{finding.severity}: {finding.title}\n  {finding.advice}"))
    out.print(Text(f"\nthe page: {spelt(folder.report)}"))


def grid(columns: list[str], rows: list[list[str]]) -> Table:
    """Return a plain table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(Text(column), no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def print_json(folder: CampaignFolder, head: Head, analysis: Analysis, findings: list[Finding]) -> None:
    """Print everything as an object."""
    import json as writer

    whole = {
        "folder": str(folder.path),
        "head": head.model_dump(),
        "analysis": analysis.model_dump(),
        "findings": [finding.model_dump() for finding in findings],
    }
    typer.echo(writer.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False))


def print_runs(head: Head) -> None:
    """Print the runs of a campaign in their order."""
    from scope.report.terminal.console import console

    rows = [
        [str(run.number), str(run.repetition), *(str(value) for value in run.factors.values())]
        for run in head.runs()
    ]
    console().print(grid(["run", "repetition", *head.runs()[0].factors], rows))


@contextmanager
def listening(head: Head) -> Iterator[Listener]:
    """Yield what tells a person how far a campaign is: a bar on a terminal, else what went wrong."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    screen = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    begin_s = time.monotonic()
    # Drawing takes time from the cores that are measured: twice a second is enough.
    with Progress(
        *columns, console=screen, transient=True, refresh_per_second=2, disable=not screen.is_terminal
    ) as bar:
        task = bar.add_task("the first run", total=head.soak_s if head.kind == "soak" else None)

        def told(record: RunRecord, done: int, total: int | None) -> None:
            if record.status != "ok":
                bar.console.print(f"run {record.number}: {record.status}: {record.reason}", markup=False)
            of = f"{done} of {total} runs" if total else f"{done} run{'' if done == 1 else 's'}"
            passed = done if total else time.monotonic() - begin_s
            bar.update(task, description=of, completed=passed, total=total or head.soak_s)

        yield told
