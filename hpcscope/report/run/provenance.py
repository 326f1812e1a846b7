"""Provenance: machine, MPI library, compiler, environment, clock, launches, command."""

import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.machine.machine import Blas, EmulatedCluster, Host, NativeBuild, RelayedLink, Scalapack
from hpcscope.report.figure import Table
from hpcscope.report.wording import moment
from hpcscope.samples.records import LaunchRecord
from hpcscope.samples.samples import Samples

_MOST_KINDS = 16
"""Maximum number of kinds of hosts whose facts are listed."""
_MOST_NAMED = 4


@dataclass(frozen=True)
class FactGroup:
    """Facts that belong together: name-value pairs, a table, or a verbatim text."""

    title: str
    pairs: list[tuple[str, str]]
    table: Table | None = None
    text: str = ""
    counted: str = "launches"
    """The plural noun for the rows of the table."""


def provenance(run: Run) -> list[FactGroup]:
    """Return every group of facts, in reading order."""
    lab, build, launches = run.machine.lab, run.machine.build, run.raw_samples.launches
    return [
        _run(run),
        *([_lab(lab)] if lab else []),
        *_hosts(run.machine.hosts),
        *([_build(build)] if build else []),
        FactGroup(
            "Environment",
            sorted(run.machine.environment.items()) or [("", "no variable that controls MPI is set")],
        ),
        *([_clock(launches), *_settings(launches), _launches(run.raw_samples)] if launches else []),
        *([FactGroup("Resolved experiment", [], text=run.experiment)] if run.experiment else []),
    ]


def _run(run: Run) -> FactGroup:
    record = run.record
    finished = moment(record.finished_unix_s) if record.finished_unix_s is not None else "not finished"
    return FactGroup(
        "Run",
        [
            ("Name", record.name),
            ("Module", record.module),
            ("Status", record.status),
            ("Started", moment(record.started_unix_s)),
            ("Finished", finished),
            ("Command", shlex.join(record.command)),
            ("Seed", _seed(run.experiment)),
            ("Scope", record.scope_version),
            ("Python", run.machine.python),
        ],
    )


def _lab(lab: EmulatedCluster) -> FactGroup:
    """Return the fidelity of the emulated cluster: its measured links, and the delays of relays."""
    pairs = [
        ("Cluster", f"{lab.title} ({lab.name})"),
        ("Injected faults", "; ".join(lab.faults) or "nothing"),
        *([("Storage", lab.storage)] if lab.storage else []),
        *((f"Relayed: {relayed_link.link}", _lateness(relayed_link)) for relayed_link in lab.relayed),
    ]
    table = Table.of(
        {
            "link": emulated_link.link,
            "declared": units.quantity(emulated_link.declared_bytes_per_s, "B/s"),
            "measured": units.quantity(emulated_link.measured_bytes_per_s, "B/s"),
            "deviation": units.change(emulated_link.deviation),
            "largest, messages included": f"{units.change(emulated_link.worst[1])} ({emulated_link.worst[0]})",
            "processors in use": units.percent(emulated_link.processor_share),
        }
        for emulated_link in lab.links
    )
    if not lab.links:
        pairs.append(("Links", "not measured (--no-check)"))
    return FactGroup("Emulated cluster", pairs, table if lab.links else None, counted="links, measured at start")


def _lateness(relay: RelayedLink) -> str:
    if relay.frames == 0:
        return "no frames before the run"
    median, worst = (units.quantity(late * 1e-6, "s") for late in (relay.late_median_us, relay.late_p99_us))
    return f"{relay.frames} frames, delayed by {median} (median), {worst} (99th percentile)"


def _seed(experiment: str) -> str:
    """Return the seed of the random order in the resolved experiment."""
    try:
        return str(tomllib.loads(experiment).get("seed", "unknown"))
    except tomllib.TOMLDecodeError:
        return "unknown"


def _hosts(hosts: Sequence[Host]) -> list[FactGroup]:
    """Return the facts of all hosts, largest group first; hosts that differ only in their state share a group."""
    kinds = grouped(hosts, lambda host: tuple(_facts(host)))
    ordered = sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    groups = [
        FactGroup(_named([host.name for host in alike]), [*facts, *_states(alike)])
        for facts, alike in ordered[:_MOST_KINDS]
    ]
    rest = [host.name for _, alike in ordered[_MOST_KINDS:] for host in alike]
    return groups + ([FactGroup(_named(rest), [("Facts", "in machine.json")])] if rest else [])


def _named(hosts: Sequence[str]) -> str:
    """Return host names as a title: all names if they are few, else the first and the last."""
    if len(hosts) <= _MOST_NAMED:
        return f"Host{'s' if len(hosts) > 1 else ''} {', '.join(hosts)}"
    return f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]}"


def _states(hosts: Sequence[Host]) -> list[tuple[str, str]]:
    """Return the facts that change from hour to hour, over all hosts of a kind."""
    queues = [host.run_queue for host in hosts if host.run_queue is not None]
    queue = (
        f"{min(queues):g}" + (f" to {max(queues):g}" if min(queues) < max(queues) else "") if queues else "unknown"
    )
    throttled = dict.fromkeys(map(_throttled, hosts))
    worst = _throttled(max(hosts, key=lambda host: sum(host.throttle_counts.values())))
    heat = worst if len(throttled) == 1 else f"differs between hosts, at most {worst}"
    return [("Throttled for heat", heat), ("Run queue before the run", queue)]


def _facts(host: Host) -> list[tuple[str, str]]:
    """Return the facts of a host that do not change."""
    processor = host.processor
    caches = [
        f"L{cache.level} {cache.kind} {units.size(cache.size_bytes)}"
        + (f" shared by {cache.shared_by_cores} cores" if cache.shared_by_cores > 1 else "")
        for cache in host.caches
    ]
    quota = f", CPU quota {processor.quota_processors:g}" if processor.quota_processors is not None else ""
    turbo = {True: "on", False: "off", None: "unknown"}[host.turbo]
    return [
        ("Processor", f"{processor.model} ({processor.architecture})"),
        ("Cores", f"{processor.sockets} × {processor.cores // max(1, processor.sockets)} cores, "
                  f"{processor.threads} hardware threads, {len(processor.usable)} usable{quota}"),
        ("Base frequency", units.quantity(processor.base_frequency_hz, "Hz")),
        ("Features", ", ".join(processor.flags) or "none of interest"),
        ("Caches", "; ".join(caches) or "unknown"),
        ("Memory", f"{units.quantity(host.memory_bytes, 'B')} in {units.count(host.numa_nodes, 'NUMA node')}"),
        ("Links", "; ".join(_link(host)) or "none"),
        ("Devices", "; ".join(device.described for device in host.devices) or "none"),
        ("Kernel", f"{host.kernel}, {host.operating_system}"),
        ("Virtualisation", host.virtualization or "none"),
        ("Frequency governor", f"{host.governor or 'unknown'}, turbo {turbo}"),
        ("Huge pages", host.transparent_huge_pages or "unknown"),
        ("Microcode", host.microcode or "unknown"),
        ("Mitigations", _mitigations(host)),
        ("Idle states", _idle_states(host)),
    ]  # fmt: skip


def _mitigations(host: Host) -> str:
    words = [f"{name}: {word}" for name, word in host.vulnerabilities.items() if word != "Not affected"]
    return "; ".join(words) or ("none needed" if host.vulnerabilities else "unknown")


def _idle_states(host: Host) -> str:
    words = [
        f"{state.name} ({'disabled' if state.disabled else units.quantity(state.latency_s, 's') + ' to leave'})"
        for state in host.idle_states
    ]
    chosen = f", chosen by {host.idle_governor}" if words and host.idle_governor else ""
    return ", ".join(words) + chosen or "unknown"


def _throttled(host: Host) -> str:
    """Return how often the processors were throttled since the system started."""
    return ", ".join(f"{what} {count}" for what, count in host.throttle_counts.items()) or "not counted"


def _link(host: Host) -> list[str]:
    return [
        f"{link.name} ({link.kind}"
        + (
            f", {units.quantity(link.rate_bits_per_s, 'bit/s')}"
            if link.rate_bits_per_s is not None
            else ", rate unknown"
        )
        + f", MTU {link.mtu_bytes} B{'' if link.up else ', down'})"
        for link in host.links
    ]


def _build(build: NativeBuild) -> FactGroup:
    return FactGroup(
        "MPI library and compiler",
        [
            ("Library", f"{build.mpi.name} {build.mpi.version} ({build.mpi.origin})"),
            ("Compiler wrapper", build.mpi.wrapper or "none"),
            ("Launcher", build.mpi.launcher or "none"),
            ("Linear algebra", _blas(build.blas)),
            ("Distributed linear algebra", _scalapack(build.scalapack)),
            ("Native program", build.source),
            ("Compiler", build.compiler),
            ("Flags", build.labelled_flags),
            ("Fingerprint", build.fingerprint),
            ("Built", moment(build.built_unix_s)),
        ],
    )


def _blas(blas: Blas | None) -> str:
    if blas is None:
        return "none"
    kernels = f"kernels for {blas.core}" if blas.core else "kernels not known"
    return f"{blas.name} {blas.version} ({blas.origin}), {kernels}: {blas.configuration or blas.library}"


def _scalapack(scalapack: Scalapack | None) -> str:
    return f"ScaLAPACK {scalapack.version} ({scalapack.origin}), {scalapack.library}" if scalapack else "none"


def _clock(launches: Sequence[LaunchRecord]) -> FactGroup:
    worst = max(launches, key=lambda launch: launch.clock.resolution_s)
    clock = worst.clock
    overhead_s = max(launch.clock.overhead_s for launch in launches)
    synchronized = max(launches, key=lambda record: record.clock_synchronization.error_s).clock_synchronization
    pairs = [
        ("Clock", clock.source + (f" ({clock.fallback_reason})" if clock.fallback_reason else "")),
        ("Frequency", units.quantity(clock.frequency_hz, "Hz")),
        ("Resolution", units.quantity(clock.resolution_s, "s")),
        ("Start/stop pair", units.quantity(overhead_s, "s") + ", subtracted"),
        ("Monotonic", "yes" if all(launch.clock.monotonic for launch in launches) else "NO"),
        ("Clocks of the hosts", f"{synchronized.method}, {units.count(synchronized.hosts, 'host')}"),
        ("Error after synchronization", units.quantity(synchronized.error_s, "s")),
    ]  # fmt: skip
    starts = [launch.common_start for launch in launches if launch.common_start is not None]
    if starts:
        lag_s, spread_s = max(start.lag_s for start in starts), max(start.spread_s for start in starts)
        pairs.append(("Delay of entry after agreed start", f"{units.quantity(lag_s, 's')}, not counted"))
        pairs.append(("First entry to last entry", units.quantity(spread_s, "s")))
    return FactGroup("Clock, worst values of all launches", pairs)


def _settings(launches: Sequence[LaunchRecord]) -> list[FactGroup]:
    """Return the settings that the library reports, with all values if launches differ."""
    names = sorted({name for launch in launches for name in launch.settings})
    if not names:
        return []
    values = {name: dict.fromkeys(str(launch.settings.get(name, "–")) for launch in launches) for name in names}
    table = Table.of({"setting": name, "value": ", ".join(values[name])} for name in names)
    return [FactGroup("Settings reported by the library", [], table, counted="settings")]


def _launches(samples: Samples) -> FactGroup:
    ends = {(end.launch, end.attempt): end for end in samples.ends}
    table = Table.of(
        {
            "launch": f"{record.launch}" + (f", attempt {record.attempt}" if record.attempt > 1 else ""),
            "ranks": str(record.ranks),
            "transport": record.transport + ("" if record.origin == "measured" else f" ({record.origin})"),
            "placement": str(record.placement),
            "processors": _where(record),
            "started": moment(record.started_unix_s),
            "duration": units.quantity(end.duration_s, "s")
            if (end := ends.get((record.launch, record.attempt)))
            else "did not end",
            "clock error at the end": units.quantity(end.clock_error_s, "s") if end else "–",
        }
        for record in samples.launches
    )
    return FactGroup(f"Launches ({samples.launches[0].library})", [], table)


def _where(launch: LaunchRecord) -> str:
    hosts = list(dict.fromkeys(process.host for process in launch.processes))
    shown = [
        f"{host} " + ",".join(_cores(process.processors) for process in launch.processes if process.host == host)
        for host in hosts[:4]
    ]
    return "; ".join(shown) + (f"; and {len(hosts) - 4} more hosts" if len(hosts) > 4 else "")


def _cores(cores: Sequence[int]) -> str:
    if len(cores) > 2 and list(cores) == list(range(cores[0], cores[-1] + 1)):
        return f"{cores[0]}-{cores[-1]}"
    return "+".join(map(str, cores))
