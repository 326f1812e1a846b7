"""The throughput of a mix of jobs: begun or resumed, measured round by round, analyzed."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcscope.build import installations, native
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.catalog.catalog import write as write_catalog
from hpcscope.catalog.mix import benchmarks
from hpcscope.clock import unix_s
from hpcscope.engine.analysis import explain
from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.engine.progress import ignore
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.run import RunOutcome
from hpcscope.errors import InterruptedRunError, OutOfTimeError, ScopeError, UsageError
from hpcscope.lab.active import active
from hpcscope.launch import schedulers
from hpcscope.launch.cluster import Cluster, probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.launch.supervision.journal import mend
from hpcscope.locks import hold
from hpcscope.machine import discover
from hpcscope.machine.machine import Machine
from hpcscope.private import refuse_foreign
from hpcscope.programs.throughput import mix as mixes
from hpcscope.programs.throughput.mix import Mix
from hpcscope.programs.throughput.rounds import MixRounds
from hpcscope.programs.throughput.starting import starter
from hpcscope.rundirectory import FORMAT, RunDirectory, RunFile, note_checksums, read_json, write_json, write_text
from hpcscope.samples.reader import read as read_samples
from hpcscope.samples.records import JobRecord, RoundRecord
from hpcscope.signals import STOP_RUN, as_interrupt
from hpcscope.version import VERSION

Listener = Callable[[JobRecord | RoundRecord], None]


def run(
    file: Path,
    changes: Mapping[str, Any],
    output: Path | None = None,
    command: Sequence[str] = (),
    listener: Listener = ignore,
) -> RunOutcome:
    """Measure the throughput of the mix in a file, derive everything and draw the report.

    `changes` of the mix: rounds, time_s, seed, mpi, launcher.hosts. UsageError names file, key and value of a
    job that cannot run here. A job that fails is recorded; its values are not results.
    """
    hosts = changes.get("launcher.hosts")
    mix = mixes.read(file, {key: value for key, value in changes.items() if key != "launcher.hosts"})
    if hosts:
        mix = mix.model_copy(update={"launcher": replace(mix.launcher, hosts=hosts)})
    seed = secrets.randbelow(2**31) if mix.seed is None else mix.seed
    folder = mixes.working_folder(mix, str(file))
    mix = mix.model_copy(update={"seed": seed, "folder": str(folder)})
    place = _place(mix, str(file), listener)
    directory = new_directory(mix.name, output)
    _begin(directory, mix, place.machine, command)
    return _measure(directory, mix, place)


def resume(folder: Path, listener: Listener = ignore) -> RunOutcome:
    """Measure the rounds that an interrupted measurement lacks, derive everything and draw the report.

    Raises UsageError for another user's folder, since it names programs to start, and if hosts or program differ.
    """
    directory = RunDirectory(folder.resolve())
    if not directory.mix.exists():
        raise UsageError(f"{folder}: has no mix.toml; must be the directory of a run of `scope throughput`")
    refuse_foreign(directory.mix)
    mix = mixes.read(directory.mix)
    machine = read_json(directory.machine, Machine)
    place = _place(mix, str(directory.mix), listener)
    assert place.machine.build is not None
    begun_run.refuse_changes(directory, machine, place.machine.build, place.cluster.hosts)
    return _measure(directory, mix, place)


@dataclass(frozen=True)
class _Ready:
    """What the rounds of a mix need on this machine."""

    cluster: Cluster
    machine: Machine
    listener: Listener
    where: str


def _place(mix: Mix, where: str, listener: Listener) -> _Ready:
    lab = active()
    mpi = installations.find(mix.mpi)
    cluster = probe_cluster(site_of(mpi, mix.launcher, where))
    build = native.build(mpi)
    hosts = [lab.with_declared_links(host) for host in cluster.hosts] if lab else cluster.hosts
    machine = discover.machine(hosts, build, lab.facts() if lab else None)
    starter(mix, cluster, mixes.working_folder(mix, where), where)  # refused before a folder is made
    return _Ready(cluster, machine, listener, where)


def _begin(directory: RunDirectory, mix: Mix, machine: Machine, command: Sequence[str]) -> None:
    run = RunFile(
        format=FORMAT,
        scope_version=VERSION,
        name=mix.name,
        module="",
        command=list(command),
        started_unix_s=unix_s(),
        finished_unix_s=None,
        status="running",
        mix=mix.name,
    )
    write_json(directory.run, run)
    write_text(directory.mix, mixes.write(mix))
    write_json(directory.machine, machine)
    declared = benchmarks(mix.words, mix.name, [(job.words, job.name) for job in mix.job])
    write_catalog(directory.benchmarks, declared)
    note_checksums(directory.path, [directory.run, directory.mix, directory.machine, directory.benchmarks])


def _measure(directory: RunDirectory, mix: Mix, ready: _Ready) -> RunOutcome:
    """Measure the rounds that are not recorded yet, as long as there is time for them, then analyze."""
    folder = mixes.working_folder(mix, ready.where)
    place = MixRounds(
        mix,
        starter(mix, ready.cluster, folder, ready.where),
        folder,
        directory.jobs,
        directory.samples,
        "measured" if active() is None else "emulated",
        ready.listener,
    )
    hold(directory.path)
    with as_interrupt(*STOP_RUN):
        if directory.samples.exists():
            mend(directory.samples, directory.cut_samples)
        begun_run.note_status(directory, "running", mix.rounds)
        try:
            begun_run.note_status(directory, "finished", _rounds(directory, mix, place))
        except (KeyboardInterrupt, ScopeError) as ended:
            error = InterruptedRunError("interrupted") if isinstance(ended, KeyboardInterrupt) else ended
            begun_run.note_early_end(directory, error)
            raise error from None
    explain(directory.path)
    make_latest(directory)
    samples = read_samples(directory.path, read_catalog(directory.benchmarks))
    # It is well if there is a round, and no job failed.
    return RunOutcome(directory, bool(samples.rounds) and all(job.status == "ok" for job in samples.jobs))


def _rounds(directory: RunDirectory, mix: Mix, place: MixRounds) -> int:
    """Measure further rounds and return how many there are now.

    An interrupted round is left out and measured again under another number.
    """
    done: list[RoundRecord] = []
    last, spent_s = 0, 0.0
    if directory.samples.exists() and directory.samples.stat().st_size:
        samples = read_samples(directory.path, read_catalog(directory.benchmarks))
        done, spent_s = samples.rounds, sum(job.elapsed_s for job in samples.jobs if job.beside == "nothing")
        spent_s += sum(record.elapsed_s for record in done)
        last = max((job.round for job in samples.jobs), default=0)
    deadline = schedulers.deadline(mix.launcher.time_margin_s)
    longest_s = max((record.elapsed_s for record in done), default=0.0)
    for count in range(len(done), mix.rounds):
        if mix.time_s is not None and longest_s and spent_s + longest_s > mix.time_s:
            return count
        if deadline is not None and time.time() + longest_s > deadline.unix_s:
            raise OutOfTimeError(deadline.reason)
        took_s = place.measure(last + 1 + count - len(done))
        spent_s, longest_s = spent_s + took_s, max(longest_s, took_s)
    return max(len(done), mix.rounds)
