"""The folder of a campaign: the names of its files, and the life of it."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import scope
from scope.campaign import HEAD, is_campaign
from scope.campaign.allocation import Pairing
from scope.campaign.study import Planned, Point, Study, ordered
from scope.errors import ScopeError, UsageError
from scope.lab.active import active
from scope.rundirectory import FORMAT, read_json, write_json
from scope.strict import Strict

Kind = Literal["campaign", "placement", "soak"]
Status = Literal["running", "finished", "interrupted"]
LAB_NOTE = (
    "The hosts are emulated: they share this machine's processors and memory. Times on the wire are those of such"
    " a cluster; computation is slowed down by all hosts together; neither speed-ups nor memory contention show."
)


class Head(Strict):
    """`campaign.json`: what was asked for, and how far it came."""

    format: int
    scope_version: str
    kind: Kind
    study: Study
    """With its seed settled."""
    words: list[str]
    """The command line."""
    folder: str
    """Where the runs' commands are started."""
    host: str
    lab: str = ""
    """Title of the emulated cluster it ran in; empty outside of any."""
    pairings: list[Pairing] = []
    """Of placements: what is compared."""
    notes: list[str] = []
    """What has to be said about what this place can show."""
    soak_s: float | None = None
    """Of a soak: for how long."""
    soak_runs: int | None = None
    """Of a soak: at most so many runs."""
    started_unix_s: float
    status: Status

    def runs(self) -> list[Planned]:
        """Return the runs of a campaign or placement in their order; a soak has no end of its own."""
        if self.kind == "campaign":
            return self.study.runs()
        layouts = [layout for pairing in self.pairings for layout in (pairing.packed, pairing.spread)]
        (transport,) = self.study.transport
        points = {
            (one.ranks, one.placement): Point(ranks=one.ranks, placement=one.placement, transport=transport)
            for one in layouts
        }
        return ordered(list(points.values()), self.study.repetitions, self.study.seed)


@dataclass(frozen=True)
class CampaignFolder:
    """Where each file stands."""

    path: Path

    @property
    def head(self) -> Path:
        """What was asked for."""
        return self.path / HEAD

    @property
    def records(self) -> Path:
        """A line per run."""
        return self.path / "runs.jsonl"

    @property
    def analysis(self) -> Path:
        """What the runs show together; derived."""
        return self.path / "analysis.json"

    @property
    def findings(self) -> Path:
        """What was found, worst first; derived."""
        return self.path / "findings.json"

    @property
    def report(self) -> Path:
        """The page for people; derived."""
        return self.path / "report.html"

    def run(self, number: int) -> Path:
        """Return the folder of a run: what it printed, and `profiles`."""
        return self.path / "runs" / f"{number:05d}"


def new(kind: Kind, name: str, asked: Path | None) -> CampaignFolder:
    """Make the folder: the one asked for, else runs/<UTC time>-<kind>-<name>."""
    if asked is not None:
        if asked.exists() and (not asked.is_dir() or any(asked.iterdir())):
            raise UsageError(
                f"--output {asked}: exists; must be new or empty (--resume {asked} continues a campaign)"
            )
        return CampaignFolder(_made(asked.absolute()))
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    runs = Path("runs").absolute()
    folders = (runs / (f"{stamp}-{kind}-{name}" + (f"-{number}" if number else "")) for number in range(1000))
    return CampaignFolder(_made(next(folder for folder in folders if not folder.exists())))


def begin(folder: CampaignFolder, head: Head) -> None:
    """Write down what was asked for."""
    write_json(folder.head, head)


def lab_here() -> str:
    """Return the title of the emulated cluster around this process; empty outside of any."""
    lab = active()
    return "" if lab is None else lab.description.title or "a lab of one's own"


def head_of(kind: Kind, study: Study, words: list[str]) -> Head:
    """Return the head of a campaign that begins now; a seed is drawn where none was asked for."""
    lab = lab_here()
    seed = secrets.randbelow(2**31) if study.seed is None else study.seed
    return Head(
        format=FORMAT,
        scope_version=scope.__version__,
        kind=kind,
        study=study.model_copy(update={"seed": seed}),
        words=words,
        folder=str(Path.cwd()),
        host=os.uname().nodename,
        lab=lab,
        notes=[LAB_NOTE] if lab else [],
        started_unix_s=time.time(),
        status="running",
    )


def read(folder: CampaignFolder, kind: Kind | None = None) -> Head:
    """Read a campaign's head; raises UsageError where it is none, or of another kind than `kind`."""
    if not is_campaign(folder.path):
        raise UsageError(f"{folder.path}: is no campaign: it has no {folder.head.name}")
    head = read_json(folder.head, Head)
    if kind is not None and head.kind != kind:
        raise UsageError(f"{folder.path}: is a {head.kind}; scope {head.kind} --resume continues it")
    return head


def mark(folder: CampaignFolder, status: Status) -> None:
    """Write down how far it came."""
    write_json(folder.head, read_json(folder.head, Head).model_copy(update={"status": status}))


def _made(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScopeError(f"{path}: cannot be made: {error.strerror}") from error
    return path
