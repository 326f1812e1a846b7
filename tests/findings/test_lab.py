"""Findings about labs and topologies: each fires where a fault was put in, and not where all is well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcscope.catalog.ranks import GROUP
from hpcscope.findings.results import Run
from hpcscope.findings.run.algorithms import grid_against_topology
from hpcscope.findings.run.collectives import flat_collective
from hpcscope.findings.run.measurement import emulation_unfaithful, no_pinning, processor_taken
from hpcscope.lab import description
from hpcscope.lab.description import Lab
from hpcscope.machine.machine import EmulatedCluster, EmulatedLink, EmulatedMessage
from hpcscope.samples.records import EndRecord, LaunchRecord
from hpcscope.statistics.summary import Summary
from hpcscope.topology.declared import declared
from tests.findings.evidence import evident
from tests.findings.faulty_runs import with_launches, with_summaries, with_usable
from tests.findings.kinds.measurement import disturbed
from tests.models.curves import noisy, summary

GRID = description.read("grid")[1]
BYTES = 4_000_000
ONCE_S = BYTES / (6.7e6 / 8)
"""The payload over the WAN, once, frames not counted."""


def in_lab(run: Run, *links: tuple[str, float, float]) -> Run:
    """Put the run into a lab whose links have these deviations and shares of busy processors."""
    found = [
        EmulatedLink(
            link=name, declared_bytes_per_s=1e6, measured_bytes_per_s=1e6 * (1 + off), processor_share=busy
        )
        for name, off, busy in links
    ]
    lab = EmulatedCluster(name="small", title="", links=found, relayed=[], faults=[])
    return run.replaced(machine=run.machine.model_copy(update={"lab": lab}))


def test_links_off_their_rate_are_told_with_the_reason(healthy_run: Run) -> None:
    (found,) = emulation_unfaithful.find(in_lab(healthy_run, ("ports of a", -0.2, 0.97), ("bus b", 0.01, 0.2)))
    assert found.code == "emulation-unfaithful"
    assert [each.what for each in found.evidence] == ["ports of a, a stream"]
    assert "computing power" in found.advice
    (other,) = emulation_unfaithful.find(in_lab(healthy_run, ("ports of a", 0.2, 0.3)))
    assert "computing power" not in other.advice


def test_messages_faster_than_the_wire_are_told(healthy_run: Run) -> None:
    message = EmulatedMessage(bytes=10_000, wire_s=1e-3, measured_s=0.5e-3)
    run = in_lab(healthy_run, ("ports of a", 0.0, 0.3))
    assert run.machine.lab is not None
    links = [run.machine.lab.links[0].model_copy(update={"messages": [message]})]
    lab = run.machine.lab.model_copy(update={"links": links})
    (found,) = emulation_unfaithful.find(run.replaced(machine=run.machine.model_copy(update={"lab": lab})))
    assert "messages of 10,000 B 100.0 % faster" in found.title


def with_outside(run: Run, *shares: float | None) -> Run:
    """Put the run into a lab of two processors beside programs that used these shares of them, by launch."""
    seconds = [None if share is None else share * 2 * 3.0 for share in shares]
    ends = [
        EndRecord(record="end", launch=launch, attempt=1, duration_s=3.0, clock_error_s=0, outside_s=outside_s)
        for launch, outside_s in enumerate(seconds, 1)
    ]
    samples = replace(run.raw_samples, ends=ends)
    return in_lab(with_usable(run, 2)).replaced(raw_samples=samples)


def test_in_a_lab_only_programs_outside_it_take_processors(healthy_run: Run) -> None:
    """Its ranks also wait for the relay, which is part of it."""
    waiting = disturbed(1, waited_s=0.08)(healthy_run)
    assert [one.code for one in processor_taken.find(waiting)] == ["processor-taken"]
    assert processor_taken.find(with_outside(waiting, 0.01, 0.09, 0.02)) == []
    assert processor_taken.find(with_outside(waiting, None, None)) == []
    (found,) = processor_taken.find(with_outside(healthy_run, 0.01, 0.4, 0.02))
    assert found.code == "processor-taken"
    assert found.title.startswith("Programs outside the lab used up to 40 %")
    assert [(each.what, each.value) for each in found.evidence] == [
        ("CPU time of other programs during launch 2", "40 %")
    ]


def test_a_link_with_an_injected_fault_is_reported_as_such(healthy_run: Run) -> None:
    run = in_lab(healthy_run, ("ports of a", -0.8, 0.97))
    assert run.machine.lab is not None
    faulty = run.machine.lab.model_copy(update={"faults": ["a1 slow (5 Mbit/s)"]})
    machine = run.machine.model_copy(update={"lab": faulty})
    (found,) = emulation_unfaithful.find(run.replaced(machine=machine))
    assert "a1 slow (5 Mbit/s)" in found.advice


def test_hosts_of_a_lab_have_nothing_to_be_bound_to(healthy_run: Run) -> None:
    loose = with_launches(healthy_run, unbound)
    assert [found.code for found in no_pinning.find(loose)] != []
    assert no_pinning.find(in_lab(loose, ("ports of a", 0.0, 0.1))) == []


def unbound(launch: LaunchRecord) -> LaunchRecord:
    processes = [one.model_copy(update={"processors": [0, 1, 2]}) for one in launch.processes]
    return launch.model_copy(update={"processes": processes})


def test_faithful_labs_and_real_clusters_are_no_finding(healthy_run: Run) -> None:
    assert emulation_unfaithful.find(in_lab(healthy_run, ("ports of a", -0.02, 0.97))) == []
    assert emulation_unfaithful.find(healthy_run) == []


def broadcasts(
    run: Run, seconds: float, *others: tuple[str, float], message_bytes: int = BYTES, lab: Lab = GRID
) -> Run:
    """A broadcast over a lab, the three clusters of the Grid paper, and the same over other collectives."""
    random = np.random.default_rng(1)
    hosts = [host.name for host in lab.hosts()]

    def one(transport: str, time_s: float) -> Summary:
        made = summary(
            noisy(random, time_s), "mpi.broadcast", "time_s", "global", len(hosts), message_bytes=message_bytes
        )
        return made.model_copy(update={"transport": transport, "origin": "emulated"})

    made = with_summaries(run, [one("default", seconds), *(one(*other) for other in others)])
    first = made.raw_samples.launches[0]

    def over_all(launch: LaunchRecord) -> LaunchRecord:
        processes = [
            first.processes[0].model_copy(update={"rank": n, "host": host}) for n, host in enumerate(hosts)
        ]
        return launch.model_copy(update={"ranks": len(hosts), "transport": "default", "processes": processes})

    return with_launches(made, over_all).replaced(topology=declared(lab))


def test_a_payload_that_crosses_the_wan_often_is_told_with_the_seconds_it_costs(healthy_run: Run) -> None:
    (found,) = flat_collective.find(broadcasts(healthy_run, 8 * ONCE_S))
    assert found.where["group"] == "giza"
    evident(found, (8 * ONCE_S, "s"), (4.99, "s"), (8 * ONCE_S / 4.99, ""), rel=0.01)
    assert found.lost == pytest.approx(1 - 1 / 8, abs=0.02)
    faster = ("collectives.broadcast.multilevel_pipelined", 1.02 * ONCE_S)
    (compared,) = flat_collective.find(broadcasts(healthy_run, 8 * ONCE_S, faster))
    evident(compared, (1.02 * ONCE_S, "s"), rel=0.02)
    assert compared.lost == pytest.approx(1 - 1.02 / 8, abs=0.02)


def test_a_payload_that_crosses_once_or_is_small_is_no_finding(healthy_run: Run) -> None:
    assert flat_collective.find(broadcasts(healthy_run, 1.2 * ONCE_S)) == []
    assert flat_collective.find(broadcasts(healthy_run, 1e-3, message_bytes=8)) == []
    assert flat_collective.find(broadcasts(healthy_run, 8 * ONCE_S).replaced(topology=None)) == []


def test_collectives_of_several_groups_of_ranks_share_the_trunk_and_are_no_finding(
    healthy_run: Run,
) -> None:
    run = broadcasts(healthy_run, 8 * ONCE_S)
    assert flat_collective.find(run)
    grouped = [one.model_copy(update={"parameters": one.parameters | {GROUP: 2}}) for one in run.statistics]
    assert flat_collective.find(with_summaries(run, grouped)) == []


def test_a_trunk_as_fast_as_a_port_is_told_where_something_faster_was_measured(healthy_run: Run) -> None:
    lab = description.read("sgi")[1]
    small = 65536
    aware = ("collectives", 19e-3)
    (found,) = flat_collective.find(broadcasts(healthy_run, 62e-3, aware, message_bytes=small, lab=lab))
    evident(found, (19e-3, "s"), (62e-3, "s"), rel=0.02)
    assert flat_collective.find(broadcasts(healthy_run, 62e-3, message_bytes=small, lab=lab)) == []
    assert flat_collective.find(broadcasts(healthy_run, 20e-3, aware, message_bytes=small, lab=lab)) == []


def test_one_switch_has_no_trunk_to_cross(healthy_run: Run) -> None:
    lab = description.read("netfinity")[1]
    assert flat_collective.find(broadcasts(healthy_run, 8 * ONCE_S, lab=lab)) == []


def product(seconds: float, order: str, ranks: int = 24, **given: object) -> Summary:
    """A product of matrices of so many seconds on a grid of three rows."""
    parameters = {"n": 768, "block": 64, "grid_rows": 3, "grid_columns": 0, "grid_order": order, **given}
    times = noisy(np.random.default_rng(round(1e6 * seconds)), seconds)
    return summary(times, "algorithm.scalapack_pdgemm", "time_s", "max_rank", ranks, **parameters)


def on_grid(run: Run, *cases: Summary, hosts: int = 24) -> Run:
    """Put ranks on the hosts of the lab in turn, and give the run its topology."""

    def spread(launch: LaunchRecord) -> LaunchRecord:
        process = launch.processes[0]
        names = [host.name for host in GRID.hosts()][:hosts]
        placed = [
            process.model_copy(update={"rank": rank, "host": names[rank % hosts]})
            for rank in range(cases[0].ranks)
        ]
        return launch.model_copy(update={"ranks": len(placed), "transport": "default", "processes": placed})

    return with_launches(with_summaries(run, list(cases)), spread).replaced(topology=declared(GRID))


def test_a_grid_across_clusters_is_told_with_the_grid_that_would_not_be(healthy_run: Run) -> None:
    (found,) = grid_against_topology.find(on_grid(healthy_run, product(8.0, "columns"), product(4.1, "rows")))
    assert found.code == "grid-against-topology"
    assert found.where["group"] == "giza"
    assert (found.where["grid"], found.where["better_grid"]) == ("3 x 8 along columns", "3 x 8 along rows")
    evident(found, (4.38 * (1 << 20), "B"), (5.73, "s"), (3 << 20, "B"), (3.93, "s"), rel=2e-3)
    evident(found, (8.0, "s"), (4.1, "s"), rel=0.02)
    assert "grid_rows=3 grid_order=rows" in found.advice
    assert found.lost == pytest.approx(1 - 4.1 / 8, abs=0.02)
    # Also where the better grid was not measured.
    (alone,) = grid_against_topology.find(on_grid(healthy_run, product(8.0, "columns")))
    assert 4.1 not in [pytest.approx(each.value, rel=0.02) for each in alone.evidence]
    assert alone.lost == pytest.approx((5.73 - 3.93) / 8, abs=0.02)


def test_grids_along_clusters_fast_lines_and_one_host_are_silent(healthy_run: Run) -> None:
    assert grid_against_topology.find(on_grid(healthy_run, product(4.1, "rows"))) == []
    assert grid_against_topology.find(on_grid(healthy_run, product(400.0, "columns"))) == [], (
        "not the trunk's time"
    )
    assert grid_against_topology.find(on_grid(healthy_run, product(8.0, "columns", 6), hosts=1)) == []
    assert grid_against_topology.find(on_grid(healthy_run, product(8.0, "columns", 6), hosts=6)) == []
    nowhere = on_grid(healthy_run, product(8.0, "columns")).replaced(topology=None)
    assert grid_against_topology.find(nowhere) == []
