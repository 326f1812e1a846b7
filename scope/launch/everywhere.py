"""A command on every host of a site, once each, through the site's launcher."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scope.errors import ScopeError, UsageError
from scope.launch import wire
from scope.launch.diagnosis import diagnose
from scope.launch.launcher import Command, HostSlots, Job, Site, command
from scope.launch.preload import preloaded
from scope.launch.surroundings import surroundings
from scope.machine.discover import every_host, this_host, usable_cores
from scope.machine.machine import Host
from scope.machine.node_types import node_types
from scope.plan.place import ALL, ONE_PER_HOST, THREADS, Place, split

PATIENCE_S = 120


def run_once_per_host(site: Site, words: Sequence[str]) -> str:
    """Return what the command printed on all hosts; raises ScopeError when the launcher fails."""
    once = replace(site, hosts=tuple(HostSlots(host.name, 1) for host in site.hosts), ranks_per_host=1)
    job = Job(program=words[0], arguments=tuple(words[1:]), ranks=max(1, len(site.hosts)))
    start = command(job, once)
    try:
        with surroundings(start.environment) as variables:
            answer = subprocess.run(
                start.arguments,
                env=variables,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE_S,
            )
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{start.arguments[0]}: the hosts did not answer within {PATIENCE_S} s") from error
    except OSError as error:
        raise UsageError(f"{start.arguments[0]}: does not start: {error.strerror}") from error
    if answer.returncode != 0:
        said = diagnose(f"{answer.stderr}\n{answer.stdout}").text
        raise ScopeError(f"{start.arguments[0]}: cannot reach the hosts: {said}")
    return answer.stdout


@dataclass(frozen=True)
class Cluster:
    """A site that was looked at: its hosts' facts, and a number of slots on each."""

    site: Site
    hosts: list[Host]

    @property
    def place(self) -> Place:
        """What it offers to a plan."""
        most = self.site.ranks_per_host
        counts = [host.slots or 1 for host in self.site.hosts] or [usable_cores(self.hosts[0])]
        return Place(tuple(min(count, most or count) for count in counts), self._types())

    def start(self, job: Job) -> Command:
        """Return how a job is started whose binding is a launch's placement (`scope.plan.place`)."""
        kind, group = split(job.binding)
        site = self.site
        job = preloaded(job, site)
        if group != ALL:
            site = replace(site, hosts=tuple(site.hosts[position] for position in self.place.members(group)))
        if kind == ONE_PER_HOST:
            return command(replace(job, binding=site.binding, ranks_per_host=1), site)
        return command(replace(job, binding="none" if kind == THREADS else kind), site)

    def _types(self) -> tuple[tuple[int, ...], ...]:
        """Return the types of the site's hosts; none where a listed host is none of those that answered."""
        facts = [fact for host in self.site.hosts if (fact := _facts_of(host.name, self.hosts)) is not None]
        if len(facts) < len(self.site.hosts):
            return ()
        return tuple(tuple(members) for members in node_types(facts))


def look_at(site: Site) -> Cluster:
    """Probe every host of a site."""
    if not site.hosts:
        return Cluster(site, [this_host()])
    wire.prove(site, run_once_per_host)
    hosts = every_host(lambda words: run_once_per_host(site, words))
    listed = [fact for host in site.hosts if (fact := _facts_of(host.name, hosts)) is not None]
    # In the order of the list, so that types of node are numbered alike wherever they are named.
    return Cluster(with_slots(site, hosts), listed + [host for host in hosts if host not in listed])


def _facts_of(name: str, hosts: list[Host]) -> Host | None:
    """Return the facts of the host that a list calls by its name, the part before its first dot, or an address."""
    for host in hosts:
        addresses = [address.partition("/")[0] for link in host.links for address in link.addresses]
        if name in addresses or name.split(".")[0] == host.name.split(".")[0]:
            return host
    return None


def with_slots(site: Site, hosts: list[Host]) -> Site:
    """Return the site with a number of slots on every host: as asked, else a rank per usable core.

    Host lists may hold addresses that the probe does not know: the smallest host stands for all unnumbered ones.
    """
    cores = max(min(usable_cores(host) for host in hosts), site.ranks_per_host or 0)
    return replace(site, hosts=tuple(HostSlots(host.name, host.slots or cores) for host in site.hosts))
