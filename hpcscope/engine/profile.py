"""What the profiles of a monitored program show: merged, compared with a measured run, explained and drawn."""

import logging
from pathlib import Path

from hpcscope.engine.directories import new_directory
from hpcscope.findings import profile as kinds
from hpcscope.findings.finding import Findings
from hpcscope.findings.profile import ProfileFacts
from hpcscope.locks import held
from hpcscope.programs.profiles import PROFILES, monitored_run, mpip, trace
from hpcscope.programs.profiles.machine_comparison import FILE as MACHINE_COMPARISON
from hpcscope.programs.profiles.machine_comparison import (
    MachineComparison,
    MeasuredRun,
    compare_with_machine,
    measured_run,
    newest,
)
from hpcscope.programs.profiles.merged import PROFILE, merge
from hpcscope.programs.profiles.monitored_run import MONITOR, Monitored
from hpcscope.programs.profiles.records import Merged
from hpcscope.report.profile import page
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.rundirectory import FORMAT, RunDirectory, read_json, read_text, write_json, write_text
from hpcscope.version import VERSION

logger = logging.getLogger(__name__)


def analyze(folder: Path, against: Path | None = None, search: bool = True) -> ProfileContents:
    """Derive everything that the profiles of a monitored run show, write it into its folder and return it.

    `against`: the measured run to compare with. Without it, `search` takes the run of the last comparison, else
    the newest run that fits.
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
        page.write(contents)
    return contents


def prepare() -> None:
    """Import in advance what `analyze` and `page.write` would import when they are called."""
    import numpy.ma  # noqa: F401 (imported by the first numpy.unique)

    from hpcscope.findings.find import kinds as load

    load(kinds.__name__)
    page.template()


def import_profile(file: Path, output: Path | None = None) -> Path:
    """Make a monitored run from an mpiP profile, derive everything from it, and return its folder."""
    text = read_text(file)
    mpip.read(file)  # a file that is not such a profile is refused before anything is made
    folder = new_directory("import", output).path
    (folder / PROFILES).mkdir()
    kept = folder / PROFILES / f"{file.stem}{mpip.SUFFIX}"
    write_text(kept, text)
    write_json(
        folder / MONITOR,
        Monitored(
            format=FORMAT,
            scope_version=VERSION,
            command=mpip.command(kept),
            directory="",
            started_unix_s=mpip.started_unix_s(kept),
            finished_unix_s=None,
            wall_s=None,
            exit_code=None,
            signal=None,
            host="",
            mpi=None,
            library="",
            options={},
            machine=None,
        ),
    )
    explain(folder)
    return folder


def _fitting(folder: Path, merged: Merged) -> MeasuredRun | None:
    """Return the run of the last comparison, else the newest one of these hosts and this MPI."""
    if (folder / MACHINE_COMPARISON).is_file():
        before = Path(read_json(folder / MACHINE_COMPARISON, MachineComparison).run)
        if RunDirectory(before).statistics.is_file():
            return measured_run(before)
    mpi = monitored_run.read(folder).mpi if monitored_run.is_monitored(folder) else None
    folders = {Path("runs").absolute(), folder.absolute().parent}  # usually the same directory
    return newest(sorted(folders), merged.hosts, mpi)
