"""The hosts of a site as probed: the facts and slots of each, and how programs are started on them."""

import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import wire
from hpcscope.launch.diagnosis import diagnose
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import Command, MpiProgram, Site
from hpcscope.launch.preload import preloaded
from hpcscope.launch.reachable import refuse_unknown
from hpcscope.launch.site import start_command
from hpcscope.machine.discover import every_host, this_host
from hpcscope.machine.host_names import HostNames
from hpcscope.machine.machine import Host
from hpcscope.machine.node_types import node_types
from hpcscope.plan.place import Place
from hpcscope.plan.placement import ALL, Placement
from hpcscope.settings.hosts import HostSlots

TIMEOUT_S = 120
TRIES = 3
"""MPICH 4.0's mpiexec dies of SIGPIPE, and prints nothing, in 7 of 900 starts of a program that ends at once."""
FIRST_SHARE = 0.5
"""Fraction of the time limit for the first start. Open MPI 5's launcher hangs if its daemon on another host misses
the end of a program that ends at once: in 9 of 65 starts of `true` on two hosts of a busy machine, in none of 150
starts of a program that takes 0.3 s."""


@dataclass(frozen=True)
class Cluster:
    """A probed site: the facts of its hosts, and a number of slots on each."""

    site: Site
    hosts: list[Host]
    programs: Mapping[str, str] = field(default_factory=dict)
    """Paths of the native program by the architecture that it was compiled for, if there are several."""

    @property
    def architectures(self) -> dict[str, HostSlots]:
        """The first listed host of each architecture; hosts that did not answer are left out."""
        slots: dict[str, HostSlots] = {}
        for host in self.site.hosts:
            facts = _facts_of(host.name, self.hosts)
            if facts is not None:
                slots.setdefault(facts.processor.architecture, host)
        return slots

    @property
    def place(self) -> Place:
        """What the cluster offers to a plan."""
        most = self.site.ranks_per_host
        counts = [host.slots or 1 for host in self.site.hosts] or [self.hosts[0].processor.usable_cores]
        crowded = most is not None and most > min(counts)
        return Place(tuple(min(count, most or count) for count in counts), self._types(), crowded)

    def start(self, program: MpiProgram, placement: Placement) -> Command:
        """Return how a program is started in a placement, which decides its hosts and its binding."""
        site = self.site
        program = preloaded(_for_each_architecture(program, self.programs), site)
        if placement.group != ALL:
            members = self.place.members(placement.group)
            site = replace(site, hosts=tuple(site.hosts[position] for position in members))
        if placement.kind == "node":
            return start_command(replace(program, binding=site.binding, ranks_per_host=1), site)
        return start_command(
            replace(program, binding="none" if placement.kind == "threads" else placement.kind), site
        )

    def _types(self) -> tuple[tuple[int, ...], ...]:
        """Return the node types of the hosts; none if a listed host is not among those that answered."""
        facts = [fact for host in self.site.hosts if (fact := _facts_of(host.name, self.hosts)) is not None]
        if len(facts) < len(self.site.hosts):
            return ()
        return tuple(tuple(members) for members in node_types(facts))


def _for_each_architecture(program: MpiProgram, programs: Mapping[str, str]) -> MpiProgram:
    """Return the native program so that each host starts the build for its architecture, if there are several."""
    if len(programs) < 2 or program.path not in programs.values():
        return program
    choices = " ".join(f'{name}) exec {shlex.quote(path)} "$@";;' for name, path in sorted(programs.items()))
    script = f'case $(uname -m) in {choices} esac; echo "no native program for $(uname -m)" >&2; exit 126'
    return replace(program, path="sh", arguments=("-c", script, program.path, *program.arguments))


def probe_cluster(site: Site) -> Cluster:
    """Probe every host of a site, and in a lab verify that messages take its emulated network.

    Raises ScopeError if a host cannot be reached, UsageError if there is no such host, or if the launcher does not
    start.
    """
    if not site.hosts:
        return Cluster(site, [this_host()])
    refuse_unknown(site)
    wire.verify(site, start_once_per_host)
    hosts = every_host(lambda words: run_once_per_host(site, words))
    listed = [fact for host in site.hosts if (fact := _facts_of(host.name, hosts)) is not None]
    # Hosts keep the order of the list, so that node types have the same numbers everywhere.
    return Cluster(with_slots(site, hosts), listed + [host for host in hosts if host not in listed])


def run_once_per_host(site: Site, words: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """Run a command once on each host and return the output of all; raises ScopeError when the launcher fails."""
    ended = start_once_per_host(site, words, timeout_s)
    if ended.returncode != 0:
        reason = diagnose(f"{ended.stderr}\n{ended.stdout}").text
        raise ScopeError(f"{ended.args[0]} with one rank on each host: exit code {ended.returncode}: {reason}")
    return ended.stdout


def start_once_per_host(
    site: Site, words: Sequence[str], timeout_s: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run a command once on each host and wait for its end, whatever that is.

    A launcher that prints nothing is ended and started again. Raises ScopeError if the hosts do not answer then
    either, UsageError if the launcher does not start.
    """
    once = replace(site, hosts=tuple(HostSlots(host.name, 1) for host in site.hosts), ranks_per_host=1)
    program = MpiProgram(path=words[0], arguments=tuple(words[1:]), ranks=max(1, len(site.hosts)))
    start = start_command(program, once)
    try:
        with suppress(_SilentError):
            return run_to_end(start, FIRST_SHARE * timeout_s)
        return run_to_end(start, timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{start.arguments[0]}: the hosts did not answer within {timeout_s:g} s") from error
    except OSError as error:
        raise UsageError(f"{start.arguments[0]}: does not start: {error.strerror}") from error


class _SilentError(subprocess.TimeoutExpired):
    """A launcher printed nothing until it was ended."""


def run_to_end(start: Command, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a launcher to its end, again when it dies of a closed pipe."""
    with launch_environment(start.environment) as variables:
        for _ in range(TRIES):
            try:
                ended = captured(start.arguments, timeout_s, env=variables)
            except subprocess.TimeoutExpired as error:
                if error.stdout or error.stderr:
                    raise
                raise _SilentError(error.cmd, timeout_s) from error
            if ended.returncode != -signal.SIGPIPE or ended.stdout:
                break
        return ended


def with_slots(site: Site, hosts: list[Host]) -> Site:
    """Return the site with a number of slots on every host: as asked, else one per usable core.

    A host list may hold addresses that the probe does not know; such a host gets the slots of the smallest one.
    """
    cores = max(min(host.processor.usable_cores for host in hosts), site.ranks_per_host or 0)
    return replace(site, hosts=tuple(HostSlots(host.name, host.slots or cores) for host in site.hosts))


def _facts_of(name: str, hosts: list[Host]) -> Host | None:
    """Return the host that a list calls by its name, with or without its domain, or by one of its addresses."""
    called = HostNames(host.name for host in hosts).find(name)
    for host in hosts:
        addresses = [address.partition("/")[0] for link in host.links for address in link.addresses]
        if host.name == called or name in addresses:
            return host
    return None
