"""Health of a cluster: every host is visited several times, suspects once more, and each gets a verdict."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.errors import UsageError
from hpcscope.health import history, links, site_file, verdict
from hpcscope.health import reach as ways
from hpcscope.health.history import MOST_PAST, NodePast
from hpcscope.health.links import Pair
from hpcscope.health.program import program
from hpcscope.health.reach import Reach, visit
from hpcscope.health.records import FILE, HealthFile, Kept, LinkVisit, Visit, nothing_kept
from hpcscope.lab.active import INTERFACE, active
from hpcscope.launch import schedulers
from hpcscope.launch.leftovers import FOLDER
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.rundirectory import FORMAT, RunDirectory, read_json, read_text, write_json, write_text
from hpcscope.settings.health import HealthSettings
from hpcscope.signals import STOP_RUN, as_interrupt
from hpcscope.topology import topology as topologies
from hpcscope.topology.topology import Topology
from hpcscope.version import VERSION

VISITS = (6, 6)
"""Visits of every host, and then of each suspect and its partners."""
START_S = 0.4
"""Seconds that a visit takes besides measuring: start, copy, first touch of memory."""
FIRST_SHARE = 0.6
"""Fraction of the time for the visits of all hosts."""
SHORTEST_S, LONGEST_S = 0.3, 5.0
"""Limits of the measuring time of one visit: all visits together keep a host busy for at most a minute."""
WATCH_PAUSE_S = 10.0
LINK_SHARE = 0.15
"""Fraction of the time for the first stage of the links."""
SHORTEST_LINK_S, LONGEST_LINK_S = 0.25, 1.0
LINK_LIMIT_S = 20.0
MOST_S = 60.0
"""Seconds after which the program of a visit ends itself, whatever it waits for."""
RUNS = Path("runs")
FILES_BYTES = 64 << 20
"""Most bytes that a visit writes."""

PROLOG_VISIT_S = 0.2
PROLOG_BYTES = 512 << 20
"""Memory of a visit before or after a job."""

Tell = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """The cost of a check, reported before it begins."""

    hosts: int
    seconds: float
    at_once: int
    program_bytes: int
    memory_bytes: int
    file_bytes: int = FILES_BYTES
    pairs: int = 0
    """Links that are measured."""
    links_s: float = 0.0
    """Time for measuring the links."""

    @property
    def node_seconds(self) -> float:
        """Sum of the times that the hosts are busy if none is suspect."""
        return self.hosts * VISITS[0] * (self.seconds + START_S)

    @property
    def duration_s(self) -> float:
        """Time until the first stage of hosts and links is over."""
        return _turns(self.hosts, self.at_once) * (self.seconds + START_S) + self.links_s


def _turns(hosts: int, at_once: int) -> int:
    """Return how many visits of the first stage follow one another."""
    return -(-hosts // at_once) * VISITS[0]


def check(
    options: HealthSettings,
    given: Mapping[str, Any],
    output: Path | None,
    past: Path = RUNS,
    kept: Kept = nothing_kept,
    announce: Callable[[Cost], None] = lambda _cost: None,
    progress: Callable[[], AbstractContextManager[Tell]] | None = None,
) -> tuple[RunDirectory, HealthFile]:
    """Visit every host of a site and keep what was measured in a run directory.

    `given`: settings of an experiment by their keys, such as `launcher.hosts`. `past`: the folder of earlier
    checks; `kept`: others. A node that is slower than in these is measured again, too. Raises UsageError if there
    is no such host, no batch job for srun, or no compiler.
    """
    site = _reach(given, options.at_once, options.watch)
    topology = None if options.topology is None else topologies.read(Path(options.topology), rates=False)
    binary = program().read_bytes()
    share_s = FIRST_SHARE * 60 * options.minutes / _turns(len(site.hosts), site.at_once)
    seconds = min(max(share_s - START_S, SHORTEST_S), 1.0 if options.watch else LONGEST_S)
    order = random.Random(options.seed)
    more = 0 if topology is None else links.FOR_PATHS
    paired = options.links and not options.watch and len(site.hosts) > 1
    pairs = links.rounds(site.hosts, order, more) if paired else []
    turns = sum(-(-len(pair) // site.pairs_at_once) for pair in pairs)
    share_s = LINK_SHARE * 60 * options.minutes / max(turns, 1)
    link_s = min(max(share_s - 2 * START_S, SHORTEST_LINK_S), LONGEST_LINK_S)
    cost = Cost(len(site.hosts), seconds, site.at_once, len(binary), options.memory_bytes)
    announce(replace(cost, pairs=sum(map(len, pairs)), links_s=turns * (link_s + 2 * START_S)))
    directory = new_directory("health", output)
    if options.topology is not None:
        write_text(directory.topology, read_text(Path(options.topology)))
    words = [f"--seconds={seconds:g}", f"--memory-mb={options.memory_bytes >> 20}", *_disk(given)]
    tour = _Tour(site, binary, words, min(10 * seconds + 20, MOST_S), order)
    interface = resolve(None, given).launcher.interface or (INTERFACE if active() else "")
    ends = [f"--seconds={link_s:g}", *([f"--interface={interface}"] if interface else [])]
    record = _begun(site, seconds, options.seed)
    with as_interrupt(*STOP_RUN), progress() if progress else nullcontext(lambda _stage: None) as tell:
        status: Literal["finished", "interrupted"] = "interrupted"
        with suppress(KeyboardInterrupt):
            limits = (time.monotonic() + 60 * options.minutes, 60 * options.budget)
            visit_all = partial(tour.watch, *limits) if options.watch else tour.visit
            visit_all(site.hosts, 1, tell)
            record = tour.into(record)
            visit_all(_members(record, earlier(past, record, kept)), 2, tell)
            answering = list({visit.host: 0 for visit in record.visits if visit.answered} if paired else ())
            tour.link(links.rounds(answering, order, more), 1, ends, tell)
            record = tour.into(record)
            tour.link(links.again(record, topology, order), 2, ends, tell)
            status = "finished"
        record = tour.into(record).model_copy(update={"status": status})
    write_json(directory.path / FILE, record)
    make_latest(directory)
    return directory, record


def read(folder: Path) -> HealthFile:
    """Return what an earlier check measured; UsageError if the folder has none."""
    if not (folder / FILE).is_file():
        raise UsageError(f"{folder}: has no {FILE}; must be the directory of a run of `scope health`")
    return read_json(folder / FILE, HealthFile)


def read_judged(folder: Path, kept: Kept = nothing_kept) -> tuple[HealthFile, dict[str, NodePast], verdict.Health]:
    """Return an earlier check, those before it in the same folder and elsewhere, and the verdicts that follow."""
    record = read(folder)
    past = earlier(folder.resolve().parent, record, kept)
    return record, past, judged(record, past, (), topology_of(RunDirectory(folder)))


def topology_of(directory: RunDirectory) -> Topology | None:
    """Return the topology that a check was given; None without one."""
    return topologies.read(directory.topology, rates=False) if directory.topology.is_file() else None


def references(path: Path) -> list[verdict.Reference]:
    """Return the reference values of sound nodes from a check's run directory or file, or a site's TOML file."""
    if path.suffix == ".toml":
        return site_file.read(path)
    return verdict.references(read(path) if path.is_dir() else read_json(path, HealthFile))


def earlier(folder: Path, record: HealthFile, kept: Kept = nothing_kept) -> dict[str, NodePast]:
    """Return the past of the nodes of a check, from the newest earlier checks below a folder and elsewhere."""
    return history.pasts(
        chain(*(islice(paths, MOST_PAST) for paths in (_below(folder, record), kept(record)))), record
    )


def _below(folder: Path, record: HealthFile) -> Iterator[HealthFile]:
    """Yield the checks before one below a folder; damaged files and those of a later version are skipped."""
    files = [path / FILE for path in folder.iterdir() if not path.is_symlink()] if folder.is_dir() else []
    for file in sorted(files, reverse=True):  # their names begin with the time
        with suppress(UsageError):
            if file.is_file() and (made := read_json(file, HealthFile)).started_unix_s < record.started_unix_s:
                yield made


def judged(
    record: HealthFile,
    past: Mapping[str, NodePast],
    known: Sequence[verdict.Reference] = (),
    topology: Topology | None = None,
) -> verdict.Health:
    """Return the verdicts on a record and its links, judged by its nodes' past and by references."""
    against, remarks = links.evidence(record, topology)
    made = verdict.judge(record, known, [*history.evidence(record, past), *against])
    return replace(made, remarks=[*made.remarks, *remarks])


def of_this_host(
    options: HealthSettings, given: Mapping[str, Any], end_s: float, output: Path | None = None
) -> HealthFile:
    """Visit this host alone until `end_s` of the monotonic clock; the record may have too few visits to judge.

    Nothing is compiled, and nothing is written without `output`: batch systems call this before and after jobs.
    """
    site = Reach((os.uname().nodename,), ways.here, 1)
    binary = program(compile_it=False).read_bytes()
    memory_bytes = min(options.memory_bytes, PROLOG_BYTES)
    words = [f"--seconds={PROLOG_VISIT_S:g}", f"--memory-mb={memory_bytes >> 20}", *_disk(given)]
    record = _begun(site, PROLOG_VISIT_S, options.seed)
    longest = 0.0
    while len(record.visits) < VISITS[0] and (left := end_s - time.monotonic()) > longest:
        made = visit(site, site.hosts[0], 1, binary, words, max(left, 1.0))
        longest = max(longest, made.ended_unix_s - made.started_unix_s)
        record = record.model_copy(update={"visits": [*record.visits, made], "finished_unix_s": time.time()})
    if output is not None:
        write_json(new_directory("health", output).path / FILE, record)
    return record


def _begun(site: Reach, seconds: float, seed: int) -> HealthFile:
    return HealthFile(
        format=FORMAT,
        scope_version=VERSION,
        command=["scope", *sys.argv[1:]],
        origin="measured" if active() is None else "emulated",
        hosts=list(site.hosts),
        seconds=seconds,
        seed=seed,
        started_unix_s=time.time(),
        finished_unix_s=time.time(),
        visits=[],
    )


@dataclass
class _Tour:
    """Visits of hosts and links in random order; what was measured is kept, also where the tour is interrupted."""

    reach: Reach
    binary: bytes
    words: Sequence[str]
    limit_s: float
    """The longest that a visit of a host may take."""
    random: random.Random
    visits: list[Visit] = field(default_factory=list)
    links: list[LinkVisit] = field(default_factory=list)
    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    """The facts of each host's first answer."""

    def into(self, record: HealthFile) -> HealthFile:
        """Return a record with what was measured so far."""
        now = {"visits": list(self.visits), "links": list(self.links), "finished_unix_s": time.time()}
        return record.model_copy(update=now)

    def visit(self, hosts: Iterable[str], stage: int, tell: Tell) -> None:
        """Visit each host several times, in rounds of all hosts; one that does not answer is left out after that.

        With rounds, a change of the machine's state affects all hosts alike.
        """
        going = list(hosts)
        for number in range(VISITS[stage - 1]):
            self.random.shuffle(going)
            what = "every host" if stage == 1 else f"{len(going)} suspected and comparison hosts"
            tell(f"measurement {number + 1} of {VISITS[stage - 1]} of {what}")
            made: list[Visit] = []
            options = (stage, self.binary, self.words, self.limit_s)
            jobs = [partial(self._visit, host, *options) for host in going]
            self._together(jobs, self.reach.at_once, made, self.visits)
            silent = {one.host for one in made if not one.answered}
            going = [host for host in going if host not in silent]

    def watch(self, end_s: float, budget_s: float, hosts: Iterable[str], stage: int, tell: Tell) -> None:
        """Visit hosts whenever they are idle, until each has all visits, the time ends or the budget is used."""
        left = dict.fromkeys(hosts, VISITS[stage - 1])
        while (going := [host for host, visits in left.items() if visits]) and time.monotonic() < end_s:
            if sum(one.ended_unix_s - one.started_unix_s for one in self.visits) >= budget_s:
                break
            tell(f"checked {len(left) - len(going)} of {len(left)} hosts so far")
            self.random.shuffle(going)
            made: list[Visit] = []
            options = (stage, self.binary, (*self.words, "--idle-only"), self.limit_s)
            jobs = [partial(self._visit, host, *options) for host in going[: self.reach.at_once]]
            self._together(jobs, self.reach.at_once, made)
            done = [one for one in made if not ways.is_busy(one)]
            self.visits += done
            for one in done:
                left[one.host] = left[one.host] - 1 if one.answered else 0
            time.sleep(0 if done else WATCH_PAUSE_S)

    def _visit(self, host: str, *options: Any) -> Visit:
        """Visit a host and leave out facts that it has already reported, which are most of its answer."""
        made = visit(self.reach, host, *options)
        known = self.facts.setdefault(host, made.facts) if made.answered else None
        again = known is not made.facts and known == made.facts
        return made.model_copy(update={"facts": {}}) if again else made

    def link(self, rounds: Sequence[Sequence[Pair]], stage: int, words: Sequence[str], tell: Tell) -> None:
        """Measure the links of rounds of disjoint pairs."""
        for number, pairs in enumerate(rounds, 1):
            tell(f"links: round {number} of {len(rounds)}")
            options = (stage, self.binary, words, LINK_LIMIT_S)
            jobs = [partial(ways.link, self.reach, first, second, *options) for first, second in pairs]
            self._together(jobs, self.reach.pairs_at_once, self.links)

    @staticmethod
    def _together(jobs: Sequence[Callable[[], T]], at_once: int, *kept: list[T]) -> None:
        """Do this many jobs at a time, and keep each result as soon as it is there."""
        pool = ThreadPoolExecutor(at_once)
        futures = [pool.submit(job) for job in jobs]
        try:
            for done in as_completed(futures):
                for older in kept:
                    older.append(done.result())
        except BaseException:  # also an interrupt, which must not wait for hosts that hang
            pool.shutdown(wait=False, cancel_futures=True)
            begun = [future for future in futures if not future.cancelled()]  # `wait` never calls the others done
            while wait(begun, 0.05).not_done:
                ways.end_all()
            raise
        finally:
            pool.shutdown()


def _members(record: HealthFile, past: Mapping[str, NodePast]) -> list[str]:
    """Return the hosts to visit again: silent ones, suspects and their partners, and those slower than before."""
    with_suspects = [sight for sight in verdict.sights(record) if sight.suspects]
    silent = [visit.host for visit in record.visits if not visit.answered]
    again = [host for sight in with_suspects for host in (*sight.suspects, *sight.partners)]
    slower = [slowdown.host for slowdown in history.slower(record, past)]
    return list(dict.fromkeys([*silent, *again, *slower]))


def _disk(given: Mapping[str, Any]) -> list[str]:
    """Return the option for where the disk is measured; without one it is the visit's private folder."""
    asked = resolve(None, given).launcher.storage or os.environ.get(FOLDER)
    return [f"--disk={asked}"] if asked else []


def _reach(given: Mapping[str, Any], at_once: int, watch: bool) -> Reach:
    """Return the hosts that are named, else those of the lab or of the batch job, else this one."""
    asked = resolve(None, given).launcher
    named = tuple(host.name for host in asked.hosts)
    lab = active()
    if lab is not None:
        known = [host.name for host in lab.hosts]
        if unknown := [name for name in named if name not in known]:
            raise UsageError(
                f"--hosts {unknown[0]}: is not a host of lab {lab.name}; must be one of {', '.join(known)}"
            )
        return Reach(named or tuple(known), ways.by_shell(asked.remote_shell or lab.remote_shell), 1)
    granted = schedulers.allocation()
    if asked.kind == "slurm":
        if watch and named and granted is None:
            return Reach(named, ways.by_jobs(asked.mpiexec or "srun"), at_once)
        if granted is None or granted.scheduler != "slurm":
            raise UsageError(
                f"{COMMAND_LINE}: --launcher slurm: this is not running inside a slurm job; start scope inside one"
                " (salloc, sbatch)"
            )
        return Reach(named or tuple(granted.slots), ways.by_srun(asked.mpiexec or "srun"), at_once)
    hosts = named or (tuple(granted.slots) if granted else ())
    if not hosts:
        return Reach((os.uname().nodename,), ways.here, 1)
    return Reach(hosts, ways.by_shell(asked.remote_shell or "ssh"), at_once)
