"""`scope campaign`: a study, many runs of a program, and their joint analysis."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope.cli.options import Json, Output, Resume
from hpcscope.cli.output import display, grid, print_json, resumable
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.errors import UsageError
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.programs import CampaignSettings
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from hpcscope.engine.campaign import CampaignResult
    from hpcscope.programs.campaign.folder import Head, Kind


@takes(changes=(*declared(CampaignSettings), *chosen(Experiment, "seed", "mpi")))
def command(
    study: Annotated[
        Path | None, typer.Argument(metavar="STUDY", help="A .toml file.", show_default=False)
    ] = None,
    output: Output = None,
    resume: Resume = None,
    *,
    changes: Given,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the planned runs; start no run.")] = False,
    json: Json = False,
) -> None:
    """Run a program over parameters, rank counts, placements and transports, each run under the monitor.

    Then print all runs with wall-clock and CPU times, an Amdahl fit, and how times grow with the parameters. Runs
    that behave alike form groups. --resume on a finished campaign derives these results again.
    """
    from hpcscope.engine import campaign

    if (study is None) == (resume is None):
        raise UsageError("give either a study (a .toml file) or --resume DIR")
    if resume is not None:
        refuse_beside(resume, changes, output=output)
        carry_out("campaign", resume, output, json)
    elif study is not None:
        head = campaign.head_of(study, changes, sys.argv)
        if dry_run:
            planned = [
                [str(run.number), str(run.repetition), *map(str, run.factors.values())] for run in head.runs()
            ]
            display(grid(["run", "repetition", *head.runs()[0].factors], planned))
        else:
            carry_out("campaign", head, output, json, study)


def carry_out(kind: Kind, begun: Head | Path, output: Path | None, json: bool, study: Path | None = None) -> None:
    """Do the runs of a campaign, a placement study or a soak, print the analysis, and exit.

    `begun`: the head of a new campaign, or the folder of a resumed one.
    """
    from hpcscope.cli.progress import campaign_progress
    from hpcscope.engine import campaign

    with resumable(f"scope {kind}"):
        if isinstance(begun, Path):
            result = campaign.resume(kind, begun, campaign_progress)
        else:
            result = campaign.start(begun, study, output, campaign_progress)
    show(result, json)
    raise typer.Exit(0 if result.well else 1)


def show(result: CampaignResult, json: bool) -> None:
    """Print the analysis of a campaign, a placement study or a soak."""
    if json:
        parts = {"head": result.head.model_dump(), "analysis": result.analysis.model_dump()}
        findings = [finding.model_dump() for finding in result.findings]
        print_json({"folder": str(result.folder.path), **parts, "findings": findings})
        return
    from rich.text import Text

    from hpcscope.report.campaign.sections import answers, lead, sections, verdicts
    from hpcscope.report.terminal.console import console
    from hpcscope.rundirectory import spelt

    head, analysis = result.head, result.analysis
    screen = console()
    for text in (
        f"{head.kind} {head.study.name}: {lead(head, analysis)}",
        *answers(analysis),
        *verdicts(analysis),
        *head.notes,
    ):
        screen.print(Text(text))
    for section in sections(head, analysis):
        screen.print(Text(f"\n{section.title}"))
        screen.print(grid(section.table.columns, section.table.rows))
        screen.print(Text(section.caption))
    if analysis.absent:
        screen.print(Text("\n" + "\n".join(f"{reason}." for reason in analysis.absent)))
    for finding in result.findings:
        screen.print(Text(f"\n{finding.severity}: {finding.title}\n  {finding.advice}"))
    screen.print(Text(f"\nreport: {spelt(result.folder.report)}"))
