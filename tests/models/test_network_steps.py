"""Breaks of network curves are named after what is full there: a segment, a frame or a page."""

from __future__ import annotations

import pytest

from hpcscope.machine.machine import Link, Machine
from hpcscope.models.communication.network_steps import name_steps
from tests.declared import catalog
from tests.models.test_ladder import of_two_ranks
from tests.models.test_library_settings import broken


def machine_of(machine: Machine, mtu_bytes: int) -> Machine:
    link = Link(
        name="eth0",
        kind="ethernet",
        rate_bits_per_s=1e9,
        mtu_bytes=mtu_bytes,
        addresses=[],
        driver="",
        up=True,
    )
    hosts = [host.model_copy(update={"links": [link]}) for host in machine.hosts]
    return machine.model_copy(update={"hosts": hosts})


@pytest.mark.parametrize(
    ("protocol", "mtu_bytes", "last", "first", "name", "value"),
    [
        ("tcp", 1500, 1400, 1600, "payload of one packet, MTU 1,500 B", 1448),
        ("tcp", 1500, 1450, 1470, "TCP segment without time stamps, MTU 1,500 B", 1460),
        ("tcp", 9000, 8000, 9100, "payload of one packet, MTU 9,000 B", 8948),
        ("tcp", 9000, 8990, 9010, "MTU of eth0", 9000),
        ("tcp", 1500, 4096, 4097, "page", 4096),
        ("shm", 1500, 4000, 4200, "page", 4096),
        ("shm", 1500, 1400, 1600, "", 0),
        ("tcp", 1500, 1000, 1400, "", 0),
        ("tcp", 9000, 1400, 1600, "", 0),
    ],
)
def test_a_break_is_named_after_the_segment_mtu_or_page_that_is_full(
    protocol: str, mtu_bytes: int, last: float, first: float, name: str, value: int
) -> None:
    machine, launches = of_two_ranks(("a", "b"))
    fit = broken(last, first, "network.latency")
    subject = fit.subject.model_copy(update={"parameters": {**fit.subject.parameters, "protocol": protocol}})
    same = [one.model_copy(update={"placement": subject.placement}) for one in launches]
    fit = fit.model_copy(update={"subject": subject})
    (named,) = name_steps([fit], same, machine_of(machine, mtu_bytes), catalog())
    settings = named.breakpoints[0].settings
    assert [(one.name, one.value) for one in settings[:1]] == ([(name, value)] if name else [])


def test_breaks_of_mpi_benchmarks_are_not_named_after_the_network() -> None:
    machine, launches = of_two_ranks(("a", "b"))
    fit = broken(1400, 1600)
    assert name_steps([fit], launches, machine_of(machine, 1500), catalog()) == [fit]
