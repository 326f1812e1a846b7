"""The introduction of a report: the cluster, what was measured, and what the reader must know first."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hpcscope import units
from hpcscope.findings.finding import about
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Host, Machine
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.report.run import tuning
from hpcscope.report.run.ladders import QUANTITIES, best_rungs
from hpcscope.report.wording import moment, sentence

WHOLE = 0.9
"""A layer that delivers this fraction of the next-lower layer's performance loses next to nothing."""
_LAYERS = {"limit": "the hardware", "frames": "raw frames", "network": "the transport", "mpi": "MPI"}
_RANKS = re.compile(r"^\d+ ranks?\b")
_LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}


def subject(run: Run) -> str:
    """Return one line with the run's name, machine and start time."""
    return f"{run.record.name} on {machine_name(run.machine)}, {moment(run.record.started_unix_s)}"


def verdict(run: Run) -> str:
    """Return which layer delivers nearly all of the layer below, which loses most, and what is slower than peers.

    Only the first ladder of each quantity counts, which the terminal shows: the path that programs use by default.
    Without ladders, return the gravest finding, if any; for a tuning, return its choice.
    """
    if tuned := tuning.chosen(run.directory, run.models):
        return f"Chosen: {tuned.title}."
    first = {ladder.quantity: ladder for ladder in reversed(run.models.ladders)}
    steps = [step for ladder in run.models.ladders if first[ladder.quantity] is ladder for step in _steps(ladder)]
    kept = [words for share, words in steps if WHOLE <= share <= 1 / WHOLE]
    share, worst = min(steps, default=(1.0, ""))
    words = [f"{kept[0]}."] if kept else []
    words += [f"The largest loss: {worst}."] if share < WHOLE else []
    grave = [finding for finding in about(run.findings, "cluster") if finding.severity != "information"]
    slow = [finding for finding in grave if finding.code.startswith("slow-")] or ([] if words else grave)
    sentences = [f"{text[0].upper()}{text[1:]}" for text in words]
    return " ".join([*sentences, *(f"{finding.title}." for finding in slow[:1])])


def _steps(ladder: Ladder) -> Iterator[tuple[float, str]]:
    """Yield for each layer the fraction of the next-lower layer that it delivers, and a sentence that says so."""
    quantity = QUANTITIES[ladder.quantity].lower()
    for below, rung in pairwise(rung for rung in best_rungs(ladder) if rung.value is not None):
        if rung.retained is not None:
            much = (
                f"delivers {units.share(rung.retained)} of"
                if ladder.quantity != "latency_s"
                else f"takes {units.digits(1 / rung.retained)} times"
            )
            layers = _LAYERS if rung.layer != below.layer else {}
            of = f"the {quantity} of {_named(below, rung, layers)}"
            if below.name == rung.name:  # one case timed by two clocks
                of = f"its {below.note.partition('; ')[0]}"
            yield rung.retained, f"{_named(rung, below, layers)} {much} {of}"


def _named(rung: LadderRung, other: LadderRung, layers: Mapping[str, str]) -> str:
    """Return the layer, or the case with all conditions except its ranks: `matrix broadcast (cold buffers)`.

    For two cases of one benchmark, the first condition and those that differ: `file write (MPI-IO, collective)`.
    """
    (title, *conditions), (of_other, *known) = (compared.name.split(", ") for compared in (rung, other))
    told = [words for words in conditions if not _RANKS.search(words)]
    if title == of_other:
        told = [words for place, words in enumerate(conditions) if not place or words not in known]
    return layers.get(rung.layer, f"{title} ({', '.join(told)})" if told else title)


def cluster(run: Run) -> str:
    """Return one line that describes the cluster."""
    machine = run.machine
    links = {
        (link.name, link.rate_bits_per_s)
        for host in machine.hosts
        for link in host.links
        if link.up and link.kind != "loopback"
    }
    if run.record.imported is not None:
        programs = dict.fromkeys(program for file in run.record.imported.files for program in file.programs)
        return f"Values printed by {sentence(list(programs))}."
    words = [machine_kind(machine)]
    if len(machine.hosts) > 1:
        rates = [
            units.quantity(rate, "bit/s") if rate else "a link of unknown rate"
            for _, rate in sorted(links, key=str)
        ]
        words.append("joined by " + sentence(list(dict.fromkeys(rates))) if rates else "links unknown")
    words += [library(machine)] if library(machine) else []
    return "; ".join(words) + "."


@dataclass(frozen=True)
class Caution:
    """Reason why values may not be directly comparable with the baseline of other clusters."""

    text: str
    grave: bool
    """Whether it is a defect of the run; a single host, which cannot have the minimum configuration, is not."""


def cautions(run: Run) -> list[Caution]:
    """Return what a reader must know before comparing values with the values of other clusters."""
    found: list[Caution] = []
    if run.simulation is not None:
        found.append(Caution(f"Simulated, not measured: {run.simulation.accuracy}.", grave=True))
    build = run.machine.build
    if build and build.optimized:
        text = f"Optimized measurement: compiled with {build.optimized}; the baseline uses only -O2."
        found.append(Caution(text, grave=True))
    if words := program(run.machine):
        found.append(Caution(words, grave=False))
    if lacks := run.record.lacks:
        resources = {lack.resource for lack in lacks}
        number = sum(skipped.resource in resources for skipped in run.record.skipped)
        left_out = f"; {units.count(number, 'case')} left out" if number else ""
        text = f"Below the minimum configuration: {', '.join(lack.words for lack in lacks)}{left_out}."
        found.append(Caution(text, grave=len(run.machine.hosts) > 1))
    return found


def program(machine: Machine) -> str:
    """Return the sentence on a native program that was not compiled here; otherwise empty."""
    build = machine.build
    return f"The native program {build.source}; {build.compiler}." if build and build.prebuilt else ""


def machine_name(machine: Machine) -> str:
    """Return the name of the only host, or the number of hosts with the first and the last name."""
    names = [host.name for host in machine.hosts]
    if len(names) == 1:
        return names[0]
    return f"{len(names)} hosts ({names[0]} to {names[-1]})" if names else "an unknown machine"


def machine_kind(machine: Machine) -> str:
    """Return the kinds of hosts in words: `2 cores of AMD EPYC 9B14, 25.3 GB`."""
    kinds = Counter(_host_kind(host) for host in machine.hosts)
    return sentence([kind if number == 1 else f"{number} × {kind}" for kind, number in kinds.items()])


def library(machine: Machine) -> str:
    """Return the MPI library and its version; empty if nothing was built."""
    build = machine.build
    return f"{_LIBRARIES.get(build.mpi.name, build.mpi.name)} {build.mpi.version}" if build else ""


def measured(run: Run) -> str:
    """Return one sentence that says what was measured, when and where."""
    cases = {summary.key for summary in run.statistics}
    launches = max((summary.launches for summary in run.statistics), default=0)
    origins = sorted({str(summary.origin) for summary in run.statistics})
    verb = sentence(origins) or "measured"
    number = units.count(len(cases), "case")
    if run.record.imported is not None:
        files = sentence([file.name for file in run.record.imported.files])
        return f"{number} imported from {files}."
    if run.record.mix:
        return (
            f"On {moment(run.record.started_unix_s)} the jobs of the mix {run.record.mix} ran alone and side"
            f" by side in {units.count(launches, 'round')} on {machine_name(run.machine)}."
        )
    return (
        f"On {moment(run.record.started_unix_s)} the {run.record.module} module {verb} {number} in up to "
        f"{units.count(launches, 'launch', 'launches')} on {machine_name(run.machine)}."
    )


def _host_kind(host: Host) -> str:
    processor = host.processor
    cores = f"{processor.cores} cores" if processor.cores != 1 else "1 core"
    devices = [units.count(number, name, name) for name, number in Counter(host.accelerators).items()]
    return ", ".join([f"{cores} of {processor.model}", units.quantity(host.memory_bytes, "B"), *devices])
