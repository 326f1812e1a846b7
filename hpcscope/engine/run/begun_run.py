"""The files of a run that are written before its first launch, when it is resumed, and when it ends."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.catalog import write as write_catalog
from hpcscope.clock import unix_s
from hpcscope.errors import InterruptedRunError, ScopeError, UsageError
from hpcscope.machine.machine import Host, Machine, NativeBuild
from hpcscope.plan import experiment as asking
from hpcscope.plan import plan as planning
from hpcscope.plan.plan import Plan
from hpcscope.private import refuse_foreign
from hpcscope.rundirectory import (
    FORMAT,
    Lack,
    RunDirectory,
    RunFile,
    note_checksums,
    read_json,
    replace_json,
    write_json,
    write_text,
)
from hpcscope.settings.experiment import Experiment
from hpcscope.version import VERSION

Status = Literal["running", "finished", "interrupted", "failed"]


@dataclass(frozen=True)
class BegunRun:
    """The run directory of a run that was begun."""

    run: RunFile
    experiment: Experiment
    machine: Machine
    plan: Plan

    def compiler(self, directory: RunDirectory) -> str:
        """Return the MPI compiler of the run's native program."""
        if self.machine.build is None:
            raise UsageError(f"{directory.machine}: build = null: this run measured nothing and cannot be resumed")
        return self.machine.build.mpi.compiler


def begin(
    directory: RunDirectory,
    experiment: Experiment,
    machine: Machine,
    catalog: Catalog,
    plan: Plan,
    command: Sequence[str],
    lacks: Sequence[Lack] = (),
) -> None:
    """Write everything that is known before the first launch."""
    run = RunFile(
        format=FORMAT,
        scope_version=VERSION,
        name=experiment.name or directory.path.name,
        module=experiment.module,
        command=list(command),
        started_unix_s=unix_s(),
        finished_unix_s=None,
        status="running",
        skipped=list(plan.skipped),
        lacks=list(lacks),
    )
    write_json(directory.run, run)
    settled = replace(experiment, seed=plan.seed)
    write_text(directory.experiment, asking.write(settled))
    write_json(directory.machine, machine)
    write_catalog(directory.benchmarks, catalog)
    write_text(directory.plan, planning.write(plan))
    # No checksum for the plan: it may grow, and it has its own end mark.
    settled_files = (directory.run, directory.experiment, directory.machine, directory.benchmarks)
    note_checksums(directory.path, settled_files)


def read(directory: RunDirectory) -> BegunRun:
    """Read a run that is to be resumed.

    Raises UsageError naming a file that is missing, damaged or of a later format, and for a run of another user:
    its experiment names programs, which would be started.
    """
    refuse_foreign(directory.experiment)
    run = read_json(directory.run, RunFile)
    return BegunRun(
        run=run,
        experiment=asking.resolve(directory.experiment, {}),
        machine=read_json(directory.machine, Machine),
        plan=replace(planning.read(directory.plan), skipped=tuple(run.skipped)),
    )


def refuse_changes(directory: RunDirectory, machine: Machine, build: NativeBuild, hosts: Sequence[Host]) -> None:
    """Raise UsageError unless a resumed run has the same native program on the same hosts."""
    before = machine.build.fingerprint if machine.build else ""
    if build.fingerprint != before:
        raise UsageError(
            f"{directory.machine}: build.fingerprint = {before}, but the present build has {build.fingerprint};"
            " restore sources, compiler, MPI, libraries, CXX, CXXFLAGS, LDFLAGS and SCOPE_EXTRA_BENCHMARKS,"
            " or start a new run"
        )
    names, here = sorted(host.name for host in machine.hosts), sorted(host.name for host in hosts)
    if names != here:
        raise UsageError(
            f"{directory.machine}: hosts = {', '.join(names)}: must be the hosts here, {', '.join(here)}"
        )


def note_status(directory: RunDirectory, status: Status, rounds: int | None = None) -> None:
    """Write how the run ended, or that it continues; for a mix also how many rounds it has, or should have."""
    run = read_json(directory.run, RunFile)
    changes: dict[str, object] = {} if rounds is None else {"rounds": rounds}
    finished = None if status == "running" else max(unix_s(), run.started_unix_s)
    replace_json(directory.run, run.model_copy(update={"status": status, "finished_unix_s": finished, **changes}))


def note_early_end(directory: RunDirectory, error: ScopeError) -> None:
    """Write that an error ended the run early, and let the error name the run, which can be resumed.

    A full disk, which was reported already, may not allow even that.
    """
    error.resumable = directory.path
    with suppress(ScopeError):
        note_status(directory, "interrupted" if isinstance(error, InterruptedRunError) else "failed")
