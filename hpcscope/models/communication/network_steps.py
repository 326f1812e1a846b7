"""The steps of the network layer near the breakpoints of a curve: full segments and frames, and pages."""

from collections.abc import Iterator

from hpcscope.catalog.catalog import Catalog
from hpcscope.machine.machine import Link, Machine
from hpcscope.models.fitting.fit import Fit, LibrarySetting
from hpcscope.models.ladder.limits import MEASURED, TCP_IP
from hpcscope.models.ladder.paths import link_between
from hpcscope.samples.records import LaunchRecord

PAGE_BYTES = 4096
IN_MEMORY = ("shm", "cma", "unix")
"""Protocols that do not use a link."""


def name_steps(fits: list[Fit], launches: list[LaunchRecord], machine: Machine, catalog: Catalog) -> list[Fit]:
    """Name, at each break of a network benchmark's fit, what is full there: a segment, a frame or a page."""
    return [
        _named(fit, launches, machine)
        if fit.breakpoints and catalog[fit.subject.benchmark].level == "network"
        else fit
        for fit in fits
    ]


def _named(fit: Fit, launches: list[LaunchRecord], machine: Machine) -> Fit:
    protocol = str(fit.subject.parameters.get("protocol", "tcp"))
    same = [launch for launch in launches if launch.batch == fit.subject.batch]
    inside = all(len({process.host for process in launch.processes}) == 1 for launch in same)
    steps = list(_steps(protocol, _link(machine, inside)))
    return fit.with_settings(
        lambda point: [step for step in steps if point.last_before <= step.value < point.first_after]
    )


def _link(machine: Machine, inside: bool) -> Link | None:
    if not inside:
        return link_between(machine)
    return next((link for host in machine.hosts for link in host.links if link.kind == "loopback"), None)


def _steps(protocol: str, link: Link | None) -> Iterator[LibrarySetting]:
    """Yield the sizes of the largest messages that still fit, the likeliest cause of a break first."""
    if link is not None and protocol not in IN_MEMORY:
        mtu = link.mtu_bytes
        if protocol in MEASURED:
            room = mtu - MEASURED[protocol].header_bytes
            yield LibrarySetting(name=f"payload of one packet, MTU {mtu:,} B", value=room)
        if protocol == "tcp":
            room = mtu - TCP_IP.header_bytes
            yield LibrarySetting(name=f"TCP segment without time stamps, MTU {mtu:,} B", value=room)
        yield LibrarySetting(name=f"MTU of {link.name}", value=mtu)
    yield LibrarySetting(name="page", value=PAGE_BYTES)
