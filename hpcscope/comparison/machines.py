"""Differences between the machines of two runs: obstacles to a comparison, and factors to mention."""

import re
from collections.abc import Callable, Sequence

from hpcscope import units
from hpcscope.comparison.comparison import Factor
from hpcscope.machine.machine import Host, Machine

Facts = dict[str, str]

_MEMORY_TOLERANCE = 0.02


def obstacles(a: Machine, b: Machine) -> list[Factor]:
    """Return the facts by which two machines differ so much that their results are not comparable."""
    if not (a.hosts and b.hosts):
        return []  # the machine of an imported run is not known: nothing speaks against it
    factors = differences(_identity(a), _identity(b))
    return [factor for factor in factors if factor.name != "memory" or not _about_the_same_memory(a, b)]


def factors(a: Machine, b: Machine) -> list[Factor]:
    """Return the differing facts that may change between runs on one machine and may explain a difference."""
    if not (a.hosts and b.hosts):
        known = [_each(machine, lambda host: host.name) or "unknown" for machine in (a, b)]
        return [Factor(name="machine", a=known[0], b=known[1])]
    return differences(_circumstances(a), _circumstances(b))


def changes_messages(factors: Sequence[Factor]) -> bool:
    """Return whether messages may be sent in another way: by another MPI, program or launch."""
    return any(re.match("MPI|compiler|flags|program|environment |launcher ", factor.name) for factor in factors)


def optimized(a: Machine, b: Machine) -> list[str]:
    """Return the sides that were compiled with flags other than the baseline's, with these flags."""
    builds = {"A": a.build, "B": b.build}
    return [f"{side}: {build.optimized}" for side, build in builds.items() if build and build.optimized]


def _about_the_same_memory(a: Machine, b: Machine) -> bool:
    """Return whether memory differs by at most 2 %: kernels reserve a little more or less for themselves."""
    sizes_a, sizes_b = (sorted(host.memory_bytes for host in machine.hosts) for machine in (a, b))
    return len(sizes_a) == len(sizes_b) and all(
        abs(one - other) <= _MEMORY_TOLERANCE * max(one, other)
        for one, other in zip(sizes_a, sizes_b, strict=True)
    )


def differences(a: Facts, b: Facts) -> list[Factor]:
    """Return the facts in which two sides differ."""
    names = list(dict.fromkeys([*a, *b]))
    return [
        Factor(name=name, a=a.get(name, "not set"), b=b.get(name, "not set"))
        for name in names
        if a.get(name) != b.get(name)
    ]


def _identity(machine: Machine) -> Facts:
    return {
        "hosts": str(len(machine.hosts)),
        "processors": _each(machine, lambda host: f"{host.processor.model} ({host.processor.architecture})"),
        "cores": _each(machine, _cores),
        "memory": _each(machine, lambda host: units.quantity(host.memory_bytes, "B")),
        "links": _each(machine, _links),
        "devices": _each(machine, lambda host: ", ".join(host.accelerators) or "none"),
    }


def _circumstances(machine: Machine) -> Facts:
    build = machine.build
    library = (
        {
            "MPI": f"{build.mpi.name} {build.mpi.version}",
            "compiler": build.compiler,
            "flags": build.labelled_flags,
            "program": build.source,
        }
        if build
        else {}
    )
    return {
        **library,
        "host names": _each(machine, lambda host: host.name),
        "kernel": _each(machine, lambda host: host.kernel),
        "operating system": _each(machine, lambda host: host.operating_system),
        "virtualisation": _each(machine, lambda host: host.virtualization or "none"),
        "governor": _each(machine, lambda host: host.governor or "unknown"),
        "turbo": _each(machine, lambda host: {True: "on", False: "off", None: "unknown"}[host.turbo]),
        "huge pages": _each(machine, lambda host: host.transparent_huge_pages),
        "microcode": _each(machine, lambda host: host.microcode or "unknown"),
        "mitigations": _each(machine, _mitigations),
        "idle states": _each(machine, _idle_states),
        "Scope": machine.scope_version,
        **{f"environment {name}": value for name, value in machine.environment.items()},
    }


def _each(machine: Machine, describe: Callable[[Host], str]) -> str:
    described = [describe(host) for host in machine.hosts]
    kinds = dict.fromkeys(described)
    return "; ".join(kind if (number := described.count(kind)) == 1 else f"{number} × {kind}" for kind in kinds)


def _cores(host: Host) -> str:
    processor = host.processor
    quota = f", CPU quota {processor.quota_processors:g}" if processor.quota_processors is not None else ""
    return (
        f"{processor.sockets} sockets, {processor.cores} cores, {processor.threads} threads, "
        f"{len(processor.usable)} usable{quota}"
    )


def _mitigations(host: Host) -> str:
    """Return what the kernel does about vulnerabilities of this processor."""
    done = [f"{name}: {word}" for name, word in host.vulnerabilities.items() if word != "Not affected"]
    return ", ".join(done) or ("none" if host.vulnerabilities else "unknown")


def _idle_states(host: Host) -> str:
    allowed = [state.name for state in host.idle_states if not state.disabled]
    return " ".join([*allowed, f"({host.idle_governor})" if host.idle_governor else ""]).strip() or "unknown"


def _links(host: Host) -> str:
    rates = sorted(
        f"{link.kind} {units.quantity(link.rate_bits_per_s, 'bit/s')}"
        for link in host.links
        if link.up and link.rate_bits_per_s is not None
    )
    return ", ".join(rates) or "no link with a known rate"
