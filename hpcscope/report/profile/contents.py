"""The contents of a monitored run's directory, read once."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hpcscope.errors import UsageError
from hpcscope.findings.finding import Finding, Findings
from hpcscope.programs.profiles import merged as profiles
from hpcscope.programs.profiles import monitored_run
from hpcscope.programs.profiles.folder import job
from hpcscope.programs.profiles.machine_comparison import FILE as MACHINE_COMPARISON
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.monitored_run import Monitored
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.trace import Trace, gather
from hpcscope.rundirectory import RunDirectory, read_json


@dataclass(frozen=True)
class ProfileContents:
    """Everything that the report of a monitored program is made from."""

    folder: Path
    monitored: Monitored
    merged: Merged
    machine_comparison: MachineComparison | None
    findings: list[Finding]

    @cached_property
    def trace(self) -> Trace | None:
        """Every call in the trace window; None if no call was traced."""
        return gather(job(self.folder).profiles) if self.merged.events else None


def read(folder: Path) -> ProfileContents:
    """Read the directory of a monitored run; a UsageError says what is missing or wrong in it."""
    if not (folder / profiles.PROFILE).is_file():
        raise UsageError(f"{folder / profiles.PROFILE}: missing; `scope analyze {folder}` derives it")
    return ProfileContents(
        folder=folder,
        monitored=monitored_run.read(folder),
        merged=profiles.read(folder),
        machine_comparison=read_json(folder / MACHINE_COMPARISON, MachineComparison)
        if (folder / MACHINE_COMPARISON).is_file()
        else None,
        findings=read_json(RunDirectory(folder).findings, Findings).findings,
    )
