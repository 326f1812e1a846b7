"""The facts of a data sheet: what a cluster is made of, and its software."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hpcscope import units
from hpcscope.machine.machine import Machine
from hpcscope.models.computation.linpack_rates import used_cores
from hpcscope.models.ladder.paths import link_between

UNKNOWN = "unknown"


def system(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each fact about the hardware that the TOP500 list asks for."""
    hosts = machine.hosts
    yield "Name, site, manufacturer, year", UNKNOWN
    yield "Nodes", str(len(hosts)) if hosts else UNKNOWN
    yield "Processor", _each(host.processor.model for host in hosts)
    yield "Clock, nominal", _each(_known(host.processor.base_frequency_hz, "Hz") for host in hosts)
    yield "Cores per node, used", _each(str(used_cores(host)) for host in hosts)
    yield "Cores per node, installed", _each(str(host.processor.cores) for host in hosts)
    yield "Cores, total used", str(sum(map(used_cores, hosts))) if hosts else UNKNOWN
    yield "Accelerators", "none used" if hosts else UNKNOWN
    yield "Memory per node", _each(_known(host.memory_bytes, "B") for host in hosts)
    yield "Memory, total", _known(sum(host.memory_bytes for host in hosts), "B")
    yield "Interconnect", _interconnect(machine)
    yield "Virtual machine", _each(host.virtualization or "none detected" for host in hosts)
    yield "Power", UNKNOWN


def software(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each fact about the software."""
    build = machine.build
    yield "Operating system", _each(host.operating_system for host in machine.hosts)
    yield "Kernel", _each(host.kernel for host in machine.hosts)
    yield "Compiler", f"{build.compiler}, {build.labelled_flags}; {build.source}" if build else ""
    yield "MPI", f"{build.mpi.name} {build.mpi.version}" if build else ""
    blas = build.blas if build else None
    kernels = f", kernels for {blas.core}" if blas and blas.core else ""
    yield "BLAS", f"{blas.name} {blas.version}{kernels}" if blas else ""


def _interconnect(machine: Machine) -> str:
    if len(machine.hosts) == 1:
        return "none: one node, shared memory"
    link = link_between(machine)
    if link is None:
        return UNKNOWN
    rate = f"{units.quantity(link.rate_bits_per_s, 'bit/s')}" if link.rate_bits_per_s else "rate unknown"
    lab = "; emulated" if machine.lab is not None else ""
    return f"{link.kind} ({link.name}, {rate}){lab}"


def _known(value: float | None, unit: str) -> str:
    return units.quantity(value, unit) if value else UNKNOWN


def _each(values: Iterable[str]) -> str:
    """Return the value that all hosts share, or each value with the number of hosts that have it."""
    counted = Counter(value or UNKNOWN for value in values)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{value} ({count} nodes)" for value, count in counted.items())
