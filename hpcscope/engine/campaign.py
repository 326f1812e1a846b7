"""Campaigns, placement studies and soaks: begun or resumed, carried out, analyzed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.engine.directories import new_directory
from hpcscope.engine.progress import ignore
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.campaign import CampaignFacts, find_all
from hpcscope.findings.finding import Finding, Findings
from hpcscope.locks import held
from hpcscope.plan.experiment import COMMAND_LINE
from hpcscope.private import refuse_foreign
from hpcscope.programs.campaign import campaign
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign.analysis import Analysis, analyse
from hpcscope.programs.campaign.folder import CampaignFolder, Head, Kind
from hpcscope.programs.campaign.record import read
from hpcscope.programs.campaign.starting import Starter, starter
from hpcscope.programs.campaign.study import read as read_study
from hpcscope.rundirectory import FORMAT, write_json, write_text
from hpcscope.signals import STOP_RUN, as_interrupt

CampaignProgress = Callable[[Head], AbstractContextManager[campaign.Listener]]
"""Makes the listener of a campaign."""


@dataclass(frozen=True)
class CampaignResult:
    """A campaign and its analysis."""

    folder: CampaignFolder
    head: Head
    analysis: Analysis
    findings: list[Finding]

    @property
    def well(self) -> bool:
        """Whether there are runs, and all of them ended well."""
        return bool(self.analysis.runs) and self.analysis.well == self.analysis.runs


def head_of(study: Path, changes: Mapping[str, Any], command: Sequence[str]) -> Head:
    """Return the head of a campaign that begins now, with changes of the study; UsageError names what is wrong."""
    return folders.head_of("campaign", read_study(study, changes), list(command))


def start(
    head: Head, study: Path | None = None, output: Path | None = None, progress: CampaignProgress | None = None
) -> CampaignResult:
    """Begin a campaign, do its runs and analyze them; `study`: the file that it comes from."""
    ready = starter(head.study, str(study or COMMAND_LINE))
    folder = CampaignFolder(new_directory(f"{head.kind}-{head.study.name}", output).path)
    folders.begin(folder, head)
    return _carry_out(folder, head, lambda: ready, progress)


def resume(kind: Kind, path: Path, progress: CampaignProgress | None = None) -> CampaignResult:
    """Do the missing runs of a campaign and analyze all; a finished campaign is only analyzed again."""
    folder = CampaignFolder(path.absolute())
    refuse_foreign(folder.head)
    head = folders.read(folder, kind)
    if head.status != "finished" and head.lab != folders.lab_here():
        raise UsageError(f"{path}: was begun {f'in the lab {head.lab}' if head.lab else 'outside of any lab'}")
    return _carry_out(folder, head, lambda: starter(head.study, str(folder.head)), progress)


def results(path: Path) -> CampaignResult:
    """Return analysis and findings of the records of a campaign; writes nothing."""
    folder = CampaignFolder(path)
    head = folders.read(folder)
    analysis = analyse(head, read(folder.records))
    return CampaignResult(folder, head, analysis, find_all(CampaignFacts(head, analysis)))


def derive(path: Path) -> CampaignResult:
    """Derive analysis, findings and report from the records of a campaign, and write them."""
    result = results(path)
    write_json(result.folder.analysis, result.analysis)
    write_json(result.folder.findings, Findings(format=FORMAT, findings=result.findings))
    draw(result, result.folder.report)
    return result


def draw(result: CampaignResult, output: Path) -> None:
    """Write the report of a campaign."""
    from hpcscope.report.campaign import page

    write_text(output, page.render(result.head, result.analysis, result.findings))


def _carry_out(
    folder: CampaignFolder, head: Head, ready: Callable[[], Starter], progress: CampaignProgress | None
) -> CampaignResult:
    """Do the missing runs of a campaign, then analyze all of them."""
    with held(folder.path):
        if head.status != "finished":
            listening = progress(head) if progress else nullcontext(ignore)
            with as_interrupt(*STOP_RUN), listening as listener:
                try:
                    campaign.run(folder, head, ready(), listener)
                except ScopeError as error:
                    derive(folder.path)
                    error.resumable = folder.path
                    raise
        return derive(folder.path)
