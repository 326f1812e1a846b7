"""The directory of a campaign: the names of its files, and the records of its start and end."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hpcscope.clock import unix_s
from hpcscope.errors import UsageError
from hpcscope.lab.active import active
from hpcscope.programs.campaign import HEAD, is_campaign
from hpcscope.programs.campaign.placement import Pairing
from hpcscope.programs.campaign.study import Planned, Point, Study, ordered
from hpcscope.rundirectory import FORMAT, Below, read_json, write_json
from hpcscope.strict import Strict, Unix
from hpcscope.version import VERSION

Kind = Literal["campaign", "placement", "soak"]
Status = Literal["running", "finished", "interrupted"]
LAB_NOTE = (
    "The hosts are emulated: they share the processors and memory of this machine. Network times describe such "
    "a cluster. The hosts slow each other's computation down, so speedups and memory contention are not visible."
)


class Head(Strict):
    """`campaign.json`: the request and its status."""

    format: int
    scope_version: str
    kind: Kind
    study: Study
    """The study, including its seed."""
    words: list[str]
    """The command line."""
    folder: str
    """The working directory of the runs."""
    host: str
    lab: str = ""
    """Title of the lab in which the campaign ran; empty outside a lab."""
    pairings: list[Pairing] = []
    """The layouts that a placement study compares."""
    notes: list[str] = []
    """Limits of the measurement on these hosts."""
    soak_s: float | None = None
    """Duration of a soak in seconds."""
    soak_runs: int | None = None
    """Maximum number of runs of a soak."""
    started_unix_s: Unix
    status: Status

    def runs(self) -> list[Planned]:
        """Return the runs of a campaign or placement study in order; the number of runs of a soak is not fixed."""
        if self.kind == "campaign":
            return self.study.runs()
        layouts = [layout for pairing in self.pairings for layout in (pairing.packed, pairing.spread)]
        (transport,) = self.study.transport
        points = {
            (layout.ranks, layout.placement): Point(
                ranks=layout.ranks, placement=layout.placement, transport=transport
            )
            for layout in layouts
        }
        return ordered(list(points.values()), self.study.repetitions, self.study.seed)


@dataclass(frozen=True)
class CampaignFolder:
    """The paths of a campaign's files."""

    path: Path

    head = Below(HEAD)
    """The request."""
    records = Below("runs.jsonl")
    """The records, one line per run."""
    analysis = Below("analysis.json")
    """The joint analysis of the runs, which is derived."""
    findings = Below("findings.json")
    """The findings, worst first, which are derived."""
    report = Below("report.html")
    """The report, which is derived."""

    def run(self, number: int) -> Path:
        """Return the directory of a run, which holds its output and `profiles`."""
        return self.path / "runs" / f"{number:05d}"


def begin(folder: CampaignFolder, head: Head) -> None:
    """Write the request."""
    write_json(folder.head, head)


def lab_here() -> str:
    """Return the title of this process's lab; empty outside a lab."""
    lab = active()
    return "" if lab is None else lab.description.title or "an untitled lab"


def head_of(kind: Kind, study: Study, words: list[str]) -> Head:
    """Return the head of a campaign that starts now, with a random seed unless one was given."""
    lab = lab_here()
    seed = secrets.randbelow(2**31) if study.seed is None else study.seed
    return Head(
        format=FORMAT,
        scope_version=VERSION,
        kind=kind,
        study=study.model_copy(update={"seed": seed}),
        words=words,
        folder=str(Path.cwd()),
        host=os.uname().nodename,
        lab=lab,
        notes=[LAB_NOTE] if lab else [],
        started_unix_s=unix_s(),
        status="running",
    )


def read(folder: CampaignFolder, kind: Kind | None = None) -> Head:
    """Read the head of a campaign; UsageError if there is none, or if it is not of kind `kind`."""
    if not is_campaign(folder.path):
        raise UsageError(f"{folder.path}: is not a campaign: it has no {folder.head.name}")
    head = read_json(folder.head, Head)
    if kind is not None and head.kind != kind:
        raise UsageError(f"{folder.path}: is a {head.kind}; `scope {head.kind} --resume` resumes it")
    return head


def mark(folder: CampaignFolder, status: Status) -> None:
    """Write the status of a campaign."""
    write_json(folder.head, read_json(folder.head, Head).model_copy(update={"status": status}))
