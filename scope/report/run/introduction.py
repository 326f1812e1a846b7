"""The introduction of a report: sentences composed from the results of the run."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

from scope import units
from scope.findings.finding import Finding, about
from scope.machine.machine import Host, Machine
from scope.models.ladder.ladder import Ladder, Rung
from scope.report.run.contents import Contents
from scope.report.run.ladders import best_rungs, caption
from scope.report.wording import LAYERS, count, sentence


def subject(contents: Contents) -> str:
    """Return one line with the run, its machine and its time."""
    return f"{contents.run.name} on {machine_name(contents.machine)}, {moment(contents.run.started_unix_s)}"


def sentences(contents: Contents) -> list[str]:
    """Return three sentences: what was measured where, the shares that the layers retain, the findings."""
    return [_measured(contents), _ladder(contents.models.ladders), _found(contents.findings)]


def cautions(contents: Contents) -> list[str]:
    """Return why the figures may not be compared with the baseline of other clusters as they stand."""
    found: list[str] = []
    build = contents.machine.build
    if build and build.optimized:
        found.append(f"Optimized measurement: compiled with {build.optimized}, the baseline with -O2 alone.")
    if lacks := contents.run.lacks:
        resources = {lack.resource for lack in lacks}
        number = sum(one.resource in resources for one in contents.run.skipped)
        left_out = f"; {count(number, 'case')} left out" if number else ""
        found.append(f"Below the minimum configuration: {', '.join(lack.words for lack in lacks)}{left_out}.")
    return found


def moment(unix_s: float | None) -> str:
    """Return a time stamp in words, in universal time."""
    if unix_s is None:
        return "time not recorded"
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def machine_name(machine: Machine) -> str:
    """Return the name of the host, or the number of hosts."""
    names = [host.name for host in machine.hosts]
    if len(names) == 1:
        return names[0]
    return f"{len(names)} hosts ({names[0]} to {names[-1]})" if names else "an unknown machine"


def machine_kind(machine: Machine) -> str:
    """Return the kinds of hosts: `2 cores of AMD EPYC 9B14, 25.3 GB`."""
    kinds = Counter(_host_kind(host) for host in machine.hosts)
    return sentence([kind if number == 1 else f"{number} × {kind}" for kind, number in kinds.items()])


def library(machine: Machine) -> str:
    """Return the MPI library; empty when nothing was built."""
    build = machine.build
    return f"{build.mpi.name} {build.mpi.version}" if build else ""


def _measured(contents: Contents) -> str:
    cases = {one.key for one in contents.summaries}
    launches = max((one.launches for one in contents.summaries), default=0)
    origins = sorted({str(one.origin) for one in contents.summaries})
    verb = sentence(origins) or "measured"
    using = f" with {library(contents.machine)}" if library(contents.machine) else ""
    return (
        f"On {moment(contents.run.started_unix_s)} the {contents.run.module} module {verb} "
        f"{count(len(cases), 'case')} in up to {count(launches, 'launch', 'launches')} on "
        f"{machine_name(contents.machine)} ({machine_kind(contents.machine)}){using}."
    )


def _ladder(ladders: list[Ladder]) -> str:
    for ladder in ladders:
        best = best_rungs(ladder)
        steps = [_step(below, rung) for below, rung in pairwise(best) if rung.retained is not None]
        if steps:
            return f"{caption(ladder)}: {sentence(steps)}."
    return "No layer could be compared with the layer below it; the ladders give the reasons."


def _step(below: Rung, rung: Rung) -> str:
    kept = units.share(rung.retained, rung.retained_low, rung.retained_high)
    verb = "retain" if LAYERS[rung.layer].endswith("s") else "retains"
    return f"{_layer(rung)} {verb} {kept} of {_layer(below)}"


def _layer(rung: Rung) -> str:
    name = LAYERS[rung.layer]
    return "the limit" if rung.layer == "limit" else name if name.isupper() else name.lower()


def _found(findings: list[Finding]) -> str:
    if not findings:
        return "There are no findings."
    cluster, measurement = about(findings, "cluster"), about(findings, "measurement")
    numbers = Counter(str(finding.severity) for finding in cluster)
    grave = [count(numbers[one], one) for one in ("error", "warning") if numbers[one]]
    others = len(cluster) - numbers["error"] - numbers["warning"]
    listed = sentence(grave + ([f"{others} less severe"] if others else []))
    trust = f" {count(len(measurement), 'finding')} about the measurement." if measurement else ""
    if not cluster:
        return trust.strip()
    return f"{count(len(cluster), 'finding')} ({listed}); most severe: {cluster[0].title.rstrip('.')}.{trust}"


def _host_kind(host: Host) -> str:
    processor = host.processor
    cores = f"{processor.cores} cores" if processor.cores != 1 else "1 core"
    return f"{cores} of {processor.model}, {units.quantity(host.memory_bytes, 'B')}"
