"""How the hosts of a cluster are connected: found by measuring between them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.build import installations, native
from hpcscope.engine.progress import ignore
from hpcscope.errors import UsageError
from hpcscope.findings import load as load_kinds
from hpcscope.findings import topology as kinds
from hpcscope.findings.finding import Finding
from hpcscope.findings.topology import TopologyFacts
from hpcscope.lab.active import ActiveLab, active
from hpcscope.launch.cluster import Cluster, probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.signals import STOP_RUN, as_interrupt
from hpcscope.topology import loading
from hpcscope.topology.discovery import Discovery
from hpcscope.topology.discovery import discover as find
from hpcscope.topology.loading import LoadedCut
from hpcscope.topology.probe import Probe, started
from hpcscope.topology.topology import read

StageProgress = Callable[[], AbstractContextManager[Callable[[str], None]]]
"""Creates the receiver of each stage's name in a discovery."""
SEED = 1
"""Default seed of the random choice of hosts."""


@dataclass(frozen=True)
class Discovered:
    """A topology, its cost, and the findings about the network."""

    discovery: Discovery
    findings: list[Finding]


@dataclass(frozen=True)
class Loaded:
    """The trunks of a topology under load, and the findings about them."""

    cuts: list[LoadedCut]
    findings: list[Finding]


def discover(given: Mapping[str, Any], progress: StageProgress | None = None) -> Discovered:
    """Find groups of hosts, their uplinks and rates; raises UsageError if there is only one host.

    `given`: settings of an experiment by their keys, such as `launcher.hosts`; `seed` is for the choice of hosts.
    """
    with _probing(given, progress) as (cluster, probe, tell):
        lab = active()
        tell("inside a host")
        inside = probe.inside_host()
        discovery = find(probe, "measured" if lab is None else "emulated", inside, given.get("seed", SEED), tell)
        hosts = [host for _, host in sorted((rank, host) for host, ranks in probe.ranks.items() for rank in ranks)]
    declared, source = _declared(cluster, lab, cluster.site.interface)
    return Discovered(discovery, kinds.find_all(TopologyFacts(discovery, hosts, declared, source)))


def load(file: Path, given: Mapping[str, Any], progress: StageProgress | None = None) -> Loaded:
    """Measure every trunk of a topology file, and the bisection, under controlled load.

    Raises UsageError if the file has a host that the cluster lacks, or no trunk with two hosts on each side.
    """
    topology = read(file)
    if not loading.cuts(topology):
        raise UsageError(f"{file}: must have a trunk, or a bisection, with two hosts on each side")
    with _probing(given, progress) as (_, probe, tell):
        if missing := [host for host in topology.hosts if host not in probe.hosts]:
            raise UsageError(
                f"{file}: host {missing[0]!r}: must be one of the hosts of this cluster: {', '.join(probe.hosts)}"
            )
        cuts = loading.load(probe, topology, tell)
    return Loaded(cuts, load_kinds.find_all(cuts))


@contextmanager
def _probing(
    given: Mapping[str, Any], progress: StageProgress | None
) -> Iterator[tuple[Cluster, Probe, Callable[[str], None]]]:
    """Start the program that measures between the hosts, and yield it."""
    asked = resolve(None, given)
    mpi = installations.find(asked.mpi)
    site = site_of(mpi, asked.launcher, COMMAND_LINE)
    if len(site.hosts) < 2:
        only = site.hosts[0].name if site.hosts else "this one"
        raise UsageError(
            f"only one host ({only}): a topology needs two hosts; name them with --hosts a,b or --hostfile"
        )
    build = native.build(mpi, native.BASELINE)
    cluster = probe_cluster(site)
    oversubscribed = active() is not None or max(cluster.place.slots) < 2
    telling = progress() if progress else nullcontext(ignore)
    with as_interrupt(*STOP_RUN), started(cluster, build.program, oversubscribed) as probe, telling as tell:
        yield cluster, probe, tell


def _declared(cluster: Cluster, lab: ActiveLab | None, interface: str | None) -> tuple[dict[str, float], str]:
    """Return the nominal rates of the hosts' ports in bytes per second, and their source."""
    if lab is not None:
        description = lab.description
        of_group = {}
        for group in description.group:
            shared = description.shared_mbit_per_s(group.plugged_into)
            of_group[group.name] = min(group.port_mbit_per_s, shared or group.port_mbit_per_s) * 1e6 / 8
        return {host.name: of_group[host.group] for host in description.hosts()}, "the rate in the lab file"
    # Without a name, the interface that carries the messages is known only if a host has just one.
    rates = {}
    for facts in cluster.hosts:
        wired = [
            link.rate_bits_per_s / 8
            for link in facts.links
            if link.up and link.rate_bits_per_s and (interface is None or link.name == interface)
        ]
        if len(wired) == 1:
            rates[facts.name] = wired[0]
    return rates, "the link speed that the kernel reports"
