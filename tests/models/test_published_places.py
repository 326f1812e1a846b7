"""Published experiments on several networks beside runs of known truth, one for each place."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.models.published.judgement import KnownValues, compared
from hpcscope.models.published.observed import ObservedRun
from hpcscope.models.published.overview import ComparedValue
from hpcscope.models.published.reference import load
from hpcscope.statistics.summary import Summary
from tests.models.curves import measured, noisy, summary

BROADCAST = "collectives.broadcast.multilevel_blocking"


def compared_on(name: str, places: dict[str, list[Summary]]) -> dict[str, ComparedValue]:
    """What an experiment prints beside the values of its places; the others were not measured."""
    reference = load(name)
    links = {place.name: place.link_bits_per_s for place in reference.place}
    runs = {place: ObservedRun(measured(made), link_bits_per_s=links[place]) for place, made in places.items()}
    absent = dict.fromkeys(links.keys() - places.keys(), "not measured")
    rows = compared(reference.statement, KnownValues(reference.reading, runs, absent))
    return {row.row: row for row in rows}


def message(
    seconds: float, size: int, transport: str = "default", benchmark: str = "mpi.latency"
) -> list[Summary]:
    """A one-way latency, and the rate that follows from it."""
    times = noisy(np.random.default_rng(size + len(transport)), seconds, spread=1e-4)
    more = {"protocol": "tcp"} if benchmark == "network.latency" else {}
    made = summary(times, benchmark, "latency_s", transport=transport, message_bytes=size, **more)
    rates = [size / each for each in times]
    rate = summary(
        rates, benchmark, "bandwidth_bytes_per_s", transport=transport, unit="B/s", message_bytes=size, **more
    )
    return [made, rate] if size else [made]


def broadcast(seconds: float, size: int, ranks: int, transport: str) -> Summary:
    times = noisy(np.random.default_rng(ranks), seconds, spread=1e-4)
    return summary(times, "mpi.broadcast", "time_s", "global", ranks, transport, message_bytes=size)


@pytest.mark.parametrize(("factor", "holds"), [(0.7, "yes"), (1.3, "no")])
def test_a_broadcast_is_held_against_as_many_messages_as_its_tree_has_steps(factor: float, holds: str) -> None:
    switch = [*message(0.02, 65536), broadcast(3 * 0.02 / factor, 65536, 8, BROADCAST)]
    fast = [
        *message(0.002, 262144, "active-messages"),
        broadcast(2 * 0.002 / (factor + 0.25), 262144, 4, "active-messages"),
    ]
    found = compared_on("scope-collectives", {"switch": switch, "fast-network": fast})
    of_switch = found["SGI: effective bandwidth of the broadcast / the bandwidth of messages"]
    assert (of_switch.published, of_switch.holds) == (0.67, holds)
    assert of_switch.measured == pytest.approx(factor, rel=0.01)
    of_bip = found["BIP: effective bandwidth of the broadcast / the bandwidth of messages"]
    assert (of_bip.published, of_bip.holds) == (0.9, "yes")
    assert of_bip.measured == pytest.approx(factor + 0.25, rel=0.01)


def test_the_linux_and_nt_clusters_stand_beside_ours() -> None:
    sockets = [
        *message(50e-6, 1, benchmark="network.latency"),
        *message(0.25, 262144, benchmark="network.latency"),
    ]
    library = [*message(150e-6, 0), *message(0.3, 262144)]
    fast = [*message(40e-6, 1, benchmark="network.latency"), *message(90e-6, 0)]
    found = compared_on("scope-ping-pong", {"ethernet": sockets + library, "fast-ethernet": fast})
    assert found["Linux, sockets, Ethernet, latency"].published == 316e-6
    assert found["Linux, sockets, Ethernet, latency"].measured == pytest.approx(50e-6, rel=0.01)
    rate = found["Linux, sockets, Ethernet, largest rate"]
    assert (rate.published, rate.holds) == (1.02e6, "yes")
    assert rate.measured == pytest.approx(262144 / 0.25, rel=0.01)
    costs = found["Linux: latency, MPI / sockets, Ethernet"]
    assert costs.published == pytest.approx(587 / 316)
    assert (costs.measured, costs.holds) == (pytest.approx(3.0, rel=0.01), "yes")
    assert found["Linux: latency, MPI / sockets, Fast Ethernet"].published == pytest.approx(293 / 90)
    assert found["NT, MPI, Fast Ethernet, latency"].published == 673e-6
    assert found["NT, MPI, Fast Ethernet, latency"].measured == pytest.approx(90e-6, rel=0.01)
    printed = {name: found[f"{name}, rate"].published for name in ("AM-II", "BIP", "FM", "VMMC-2")}
    assert printed == {"AM-II": 31e6, "BIP": 121e6, "FM": 78e6, "VMMC-2": 97e6}
    assert found["AM-II, latency"].measured is None, "the fast network was not measured"
