"""Any MPI program under the monitor: run, its profiles merged, compared with a measured run, and reported."""

import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings import profile as kinds
from hpcscope.findings.finding import Findings
from hpcscope.findings.profile import ProfileFacts
from hpcscope.locks import LOCK, held, release
from hpcscope.machine import discover
from hpcscope.programs.profiles import monitored_run, mpip, trace
from hpcscope.programs.profiles.folder import PROFILES
from hpcscope.programs.profiles.machine_comparison import FILE as MACHINE_COMPARISON
from hpcscope.programs.profiles.machine_comparison import (
    MachineComparison,
    MeasuredRun,
    compare_with_machine,
    measured_run,
    newest,
)
from hpcscope.programs.profiles.merged import PROFILE, merge
from hpcscope.programs.profiles.monitored_run import MONITOR, Monitored, Options
from hpcscope.programs.profiles.profile import SUFFIX
from hpcscope.programs.profiles.program import recognize
from hpcscope.programs.profiles.records import Merged
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.rundirectory import FORMAT, RunDirectory, read_json, read_text, write_json, write_text
from hpcscope.version import VERSION

logger = logging.getLogger(__name__)

NONE = "none"
"""As the measured run to compare with: compare with none."""


@dataclass(frozen=True)
class MonitorOutcome:
    """How a monitored command ended."""

    folder: Path
    code: int
    """Its exit code."""
    contents: ProfileContents | None
    """Its profile; None where no process left one, or where it could not be derived."""
    problem: str = ""
    """Why the profile could not be derived, such as a full disk."""


def monitor(
    command: Sequence[str], options: Options, output: Path | None = None, against: str | None = None
) -> MonitorOutcome:
    """Run a command under the monitor and derive everything from its profiles.

    `against`: the measured run to compare the program with; None: the newest one of these hosts, `none`: none.
    """
    measured = _measured(against)
    directory = new_directory("monitor", output)
    with ThreadPoolExecutor() as others:  # their commands and files do not wait for the modules
        host = others.submit(discover.this_host)
        program = others.submit(recognize, command, options.mpi, os.environ, Path.cwd())
        _prepare()
    try:
        ended = monitored_run.run(command, directory.path, options, host=host.result(), program=program.result())
    except BaseException:
        release(directory.path)
        _remove_empty(directory.path)
        raise
    if not any((directory.path / PROFILES).glob(f"*{SUFFIX}")):
        return MonitorOutcome(directory.path, ended.code, None)
    try:
        contents = analyze(directory.path, measured, search=against != NONE)
        _draw(contents)
        make_latest(directory)
    except ScopeError as error:
        return MonitorOutcome(directory.path, ended.code, None, str(error))
    return MonitorOutcome(directory.path, ended.code, contents)


def analyze(folder: Path, against: Path | None = None, search: bool = True) -> ProfileContents:
    """Derive everything that the profiles of a monitored run show, write it into its folder and return it.

    `against`: the measured run to compare with; without one the run of the last comparison, else the newest one
    that fits (`search`).
    """
    merged = merge(folder, monitored_run.wrappers(folder))
    write_text(folder / PROFILE, merged.model_dump_json(indent=1) + "\n")
    chosen = measured_run(against) if against else _fitting(folder, merged) if search else None
    compared = compare_with_machine(merged, chosen) if chosen is not None else None
    if compared is not None:
        write_json(folder / MACHINE_COMPARISON, compared)
    else:
        (folder / MACHINE_COMPARISON).unlink(missing_ok=True)
    found = kinds.find_all(ProfileFacts(merged, compared))
    write_json(RunDirectory(folder).findings, Findings(format=FORMAT, findings=found))
    contents = ProfileContents(folder, monitored_run.read(folder), merged, compared, found)
    if contents.trace is not None:
        hosts = {process.rank: process.host for process in merged.processes}
        logger.info("writing the trace of %d calls ...", merged.events)
        write_text(folder / trace.TRACE, trace.chrome(contents.trace, hosts))
    return contents


def explain(folder: Path) -> ProfileContents:
    """Derive everything from the profiles of a monitored run, draw its report, and return it."""
    with held(folder):
        contents = analyze(folder)
        _draw(contents)
    return contents


def import_profile(file: Path, output: Path | None = None) -> Path:
    """Make a monitored run of a profile by mpiP, derive everything from it, and return its folder."""
    text = read_text(file)
    mpip.read(file)  # a file that is no such profile is refused before anything is made
    folder = new_directory("import", output).path
    (folder / PROFILES).mkdir()
    kept = folder / PROFILES / f"{file.stem}{mpip.SUFFIX}"
    write_text(kept, text)
    write_json(folder / MONITOR, _imported(kept))
    explain(folder)
    return folder


def _prepare() -> None:
    """Load what is needed once the program has ended: the command is to end with it."""
    from hpcscope.findings.find import kinds as load
    from hpcscope.report.profile import page, text  # noqa: F401
    from hpcscope.report.terminal import console  # noqa: F401

    load(kinds.__name__)
    page.template()


def _draw(contents: ProfileContents) -> None:
    from hpcscope.report.profile import page

    page.write(contents)


def _measured(against: str | None) -> Path | None:
    """Return the named measured run; UsageError where it is none."""
    if against is None or against == NONE:
        return None
    path = Path(against)
    if not RunDirectory(path).statistics.is_file():
        raise UsageError(f"--against {against}: has no statistics.json; must be a measured run, or none")
    return path


def _fitting(folder: Path, merged: Merged) -> MeasuredRun | None:
    """Return the run of the last comparison, else the newest one of these hosts and this MPI."""
    if (folder / MACHINE_COMPARISON).is_file():
        before = Path(read_json(folder / MACHINE_COMPARISON, MachineComparison).run)
        if RunDirectory(before).statistics.is_file():
            return measured_run(before)
    mpi = monitored_run.read(folder).mpi if monitored_run.is_monitored(folder) else None
    folders = {Path("runs").absolute(), folder.absolute().parent}  # mostly one and the same
    return newest(sorted(folders), merged.hosts, mpi)


def _imported(report: Path) -> Monitored:
    """Return the profiled command as stated in a report of mpiP."""
    return Monitored(
        format=FORMAT,
        scope_version=VERSION,
        command=mpip.command(report),
        directory="",
        started_unix_s=mpip.started_unix_s(report),
        finished_unix_s=None,
        wall_s=None,
        exit_code=None,
        signal=None,
        host="",
        mpi=None,
        library="",
        options={},
        machine=None,
    )


def _remove_empty(folder: Path) -> None:
    """Remove the folder of a command that could not be started."""
    with suppress(OSError):
        (folder / LOCK).unlink(missing_ok=True)
        (folder / PROFILES).rmdir()
    with suppress(OSError):
        folder.rmdir()
