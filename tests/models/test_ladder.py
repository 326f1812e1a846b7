import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcscope.engine.analysis import analyze
from hpcscope.findings.results import derived
from hpcscope.machine.machine import Machine
from hpcscope.models.ladder.ladder import ladders as build_ladders
from hpcscope.models.ladder.limits import MEASURED, TCP_IP_TIMESTAMPS, asymptotic_bytes_per_s
from hpcscope.models.ladder.memory_copy import fastest_copy
from hpcscope.models.ladder.paths import paths
from hpcscope.models.ladder.rung import Ladder, LadderRung, LadderStep, successive
from hpcscope.models.models import Models
from hpcscope.report.run.ladders import retained
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.models.curves import measured, noisy, summary

INSIDE = ("shared memory inside a host", "bandwidth_bytes_per_s")


def ladders(run: Path) -> dict[tuple[str, str], Ladder]:
    return {
        (ladder.path, ladder.quantity): ladder for ladder in read_json(RunDirectory(run).models, Models).ladders
    }


def by_layer(ladder: Ladder) -> dict[str, LadderRung]:
    return {rung.layer: rung for rung in ladder.rungs}


def test_shared_memory_from_copy_to_algorithm(golden_run: Path) -> None:
    rungs = by_layer(ladders(golden_run)["shared memory inside a host", "bandwidth_bytes_per_s"])
    assert list(rungs) == ["limit", "mpi", "operation", "algorithm"]
    assert rungs["limit"].value == pytest.approx(20e9, rel=0.02)
    assert "arrays of 1 MiB" in rungs["limit"].name
    assert rungs["mpi"].value == pytest.approx(11e9, rel=0.02)
    assert rungs["mpi"].retained == pytest.approx(11 / 20, rel=0.03)
    assert "16 MiB" in rungs["mpi"].note
    assert (rungs["mpi"].paired_launches, rungs["operation"].paired_launches) == (6, 6)
    payload = 8 * 1080**2
    operation = payload / (1.4 * golden.broadcast_s(payload, 2) / 0.6)
    assert rungs["operation"].value == pytest.approx(operation, rel=0.02)
    assert rungs["operation"].retained_low is not None
    assert rungs["operation"].retained_high is not None
    assert rungs["operation"].retained_low < operation / 11e9 < rungs["operation"].retained_high
    assert rungs["operation"].of_limit == pytest.approx(operation / 20e9, rel=0.04)


def test_the_transposes_of_an_application_stand_on_top(golden_run: Path) -> None:
    random = np.random.default_rng(2)
    run = derived(golden_run)
    transposes = summary(
        noisy(random, 1e-3),
        "application.npb_ft",
        "communicate_s",
        "observed",
        work_bytes=8e6,
        **{"class": "S"},
    )
    made = build_ladders(measured([*run.statistics, transposes], run.raw_samples.launches))
    (inside,) = (one for one in made if (one.path, one.quantity) == INSIDE)
    rungs = by_layer(inside)
    assert list(rungs)[-2:] == ["algorithm", "application"]
    assert rungs["application"].value == pytest.approx(4e9, rel=0.02)
    assert rungs["application"].name == f"communication of {transposes.label}"
    for program in ("algorithm", "application"):
        held_against = (rungs[program].value or 0.0) / (rungs["operation"].value or 1.0)
        assert rungs[program].retained == pytest.approx(held_against, rel=0.02), "neither contains the other"
    assert (rungs["application"].value or 0.0) > 1.1 * (rungs["operation"].value or 0.0)
    assert re.fullmatch(r"\d\.\d\d times \[\d\.\d+, \d\.\d+\]", retained(rungs["application"]))
    assert retained(rungs["algorithm"]).startswith("delivers ")


def test_tcp_over_the_loopback(golden_run: Path) -> None:
    rungs = by_layer(ladders(golden_run)["TCP over the loopback", "bandwidth_bytes_per_s"])
    assert rungs["limit"].value is None
    assert "rate" in rungs["limit"].reason
    assert rungs["network"].retained is None
    assert rungs["mpi"].retained == pytest.approx(
        golden.line(golden.TCP, 4194304) / golden.line(golden.MPI_TCP, 4194304), rel=0.02
    )
    assert rungs["operation"].reason.startswith("operation.broadcast")
    assert "2 ranks" in rungs["operation"].reason
    latency = by_layer(ladders(golden_run)["TCP over the loopback", "latency_s"])
    assert latency["mpi"].retained == pytest.approx(5 / 6.5, rel=0.02)


def between_hosts(run: Path, *further: dict[str, Any], interface: str | None = None) -> None:
    machine = golden.machine() | {"interface": interface}
    first = machine["hosts"][0]
    links = [*first["links"], *further]
    machine["hosts"] = [dict(first, name=name, boot_id=name, links=links) for name in ("node1", "node2")]
    (run / "machine.json").write_text(json.dumps(machine))
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    for record in records:
        if record["record"] == "launch" and record["ranks"] == 2:
            record["processes"][1]["host"] = "node2"
    (run / "samples.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    analyze(run)


LINK: dict[str, Any] = {
    "name": "eth0",
    "kind": "ethernet",
    "rate_bits_per_s": 25e9,
    "mtu_bytes": 1500,
    "addresses": ["10.0.0.1"],
    "driver": "mlx5_core",
    "up": True,
}


def test_the_way_between_hosts_comes_before_that_inside_one(golden_run: Path) -> None:
    records = [json.loads(line) for line in (golden_run / "samples.jsonl").read_text().splitlines()]
    launch = next(
        r for r in records if r["record"] == "launch" and r["ranks"] == 2 and r["transport"] == "default"
    )
    inside = LaunchRecord.model_validate(launch)
    first, second = launch["processes"]
    outside = LaunchRecord.model_validate(launch | {"processes": [first, second | {"host": "node2"}]})
    between, shared = paths(Machine.model_validate(golden.machine()), [inside, outside])
    assert between.name.endswith("between hosts")
    assert shared.name == "shared memory inside a host"


def test_a_known_link_limits_by_its_frames(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    between_hosts(golden_copy, LINK)
    found = ladders(golden_copy)
    rungs = by_layer(found["TCP over eth0", "bandwidth_bytes_per_s"])
    limit = asymptotic_bytes_per_s(25e9, TCP_IP_TIMESTAMPS)
    assert rungs["limit"].value == pytest.approx(limit)
    assert rungs["network"].retained == pytest.approx(1.8e9 / limit, rel=0.03)
    assert rungs["mpi"].of_limit == pytest.approx(1.5e9 / limit, rel=0.03)
    assert ("eth0 between hosts", "bandwidth_bytes_per_s") in found
    latency = by_layer(found["TCP over eth0", "latency_s"])
    assert latency["limit"].value == pytest.approx(91 * 8 / 25e9), "38 B around 53 B of headers and payload"


def test_mpi_over_active_messages_stands_on_active_messages(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    lines = (golden_copy / "samples.jsonl").read_text().splitlines()
    changed = []
    for line in lines:
        record = json.loads(line)
        record.pop("crc32", None)
        if record.get("transport") == "tcp":
            record["transport"] = "active-messages"
        if record.get("parameters", {}).get("protocol") == "tcp":
            record["parameters"]["protocol"] = "active_messages"
        changed.append(json.dumps(record) + "\n")
    (golden_copy / "samples.jsonl").write_text("".join(changed))
    between_hosts(golden_copy, LINK)
    rungs = by_layer(ladders(golden_copy)["active messages over eth0", "bandwidth_bytes_per_s"])
    limit = asymptotic_bytes_per_s(25e9, MEASURED["active_messages"])
    assert rungs["limit"].value == pytest.approx(limit)
    assert rungs["limit"].name.startswith("active messages, frames of 1500 B")
    assert rungs["network"].retained == pytest.approx(1.8e9 / limit, rel=0.03)
    assert rungs["mpi"].of_limit == pytest.approx(1.5e9 / limit, rel=0.03)


def test_a_link_of_unknown_rate_says_so(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    between_hosts(golden_copy, LINK | {"kind": "virtual", "rate_bits_per_s": None})
    rungs = by_layer(ladders(golden_copy)["TCP over eth0", "bandwidth_bytes_per_s"])
    assert "rate" in rungs["limit"].reason


def test_of_several_links_of_unknown_rate_none_is_named(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    unknown = LINK | {"kind": "virtual", "rate_bits_per_s": None}
    between_hosts(golden_copy, unknown | {"name": "eth1"}, unknown)
    found = ladders(golden_copy)
    assert ("the network between hosts", "bandwidth_bytes_per_s") in found
    rungs = by_layer(found["TCP over the network", "bandwidth_bytes_per_s"])
    assert "the link that carries these messages is not known" in rungs["limit"].reason


def test_the_interface_that_the_user_named_limits(golden_copy: Path) -> None:
    """The hosts have a faster one as well, which messages do not take."""
    golden.shorten(golden_copy)
    between_hosts(golden_copy, LINK, LINK | {"name": "eth1", "rate_bits_per_s": 100e9}, interface="eth0")
    rungs = by_layer(ladders(golden_copy)["TCP over eth0", "bandwidth_bytes_per_s"])
    assert rungs["limit"].value == pytest.approx(asymptotic_bytes_per_s(25e9, TCP_IP_TIMESTAMPS))


def copy_of(size: int, rate: float, benchmark: str = "node.memory_copy", **more: Any) -> Summary:
    times = noisy(np.random.default_rng(size), size / rate)
    return summary(times, benchmark, "time_s", "max_rank", ranks=1, array_bytes=size, **more)


def test_the_limit_in_memory_is_the_fastest_copy_of_the_message_s_size() -> None:
    library = [copy_of(1 << 20, 58e9), copy_of(4 << 20, 50e9), copy_of(64 << 20, 18e9)]
    loop = [
        copy_of(4 << 20, 33e9, "node.stream", kernel="copy"),
        copy_of(64 << 20, 19e9, "node.stream", kernel="copy"),
    ]
    chosen = [fastest_copy(measured([*library, *loop]), n) for n in (1 << 20, 4 << 20, 1 << 30)]
    assert [(s.benchmark, s.parameters["array_bytes"]) for s in chosen if s] == [
        ("node.memory_copy", 1 << 20),
        ("node.memory_copy", 4 << 20),
        ("node.stream", 64 << 20),
    ]
    assert fastest_copy(measured([copy_of(64, 1e9, "node.stream", kernel="triad")]), 1) is None


def test_without_copies_between_cores_there_is_no_limit_but_the_rest_stands(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    lines = (golden_copy / "samples.jsonl").read_text().splitlines()
    (golden_copy / "samples.jsonl").write_text(
        "".join(f"{line}\n" for line in lines if "node.core_to_core" not in line)
    )
    analyze(golden_copy)
    rungs = by_layer(ladders(golden_copy)["shared memory inside a host", "bandwidth_bytes_per_s"])
    assert rungs["limit"].reason.startswith("node.core_to_core")
    assert rungs["mpi"].value is not None
    assert rungs["mpi"].retained is None
    assert rungs["operation"].retained is not None


MIB = 1 << 20


def core_copy(rate: float) -> Summary:
    times = noisy(np.random.default_rng(9), MIB / rate, spread=0.002)
    return summary(times, "node.core_to_core", "time_s", "max_rank", array_bytes=MIB)


def test_the_limit_in_memory_has_the_cache_state_of_a_message() -> None:
    """A core copies its own cached array five times as fast as another core's; no message has that limit."""
    machine, launches = of_two_ranks(("node1", "node1"))
    known = [copy_of(MIB, 50e9), core_copy(10e9), network("network.bandwidth", "cma", 9.5e9), windows(9e9)]
    (ladder,) = build_ladders(measured(known, launches, machine))
    rungs = by_layer(ladder)
    assert rungs["limit"].value == pytest.approx(10e9, rel=0.02)
    assert rungs["network"].retained == pytest.approx(0.95, rel=0.02)
    assert rungs["mpi"].of_limit == pytest.approx(0.9, rel=0.02)


def network(benchmark: str, protocol: str, rate: float, message_bytes: int = MIB) -> Summary:
    random = np.random.default_rng(7)
    given = {"protocol": protocol, "nodelay": "on", "wait": "polling", "flow": "credits", "socket_buffer_bytes": 0}
    rates = [message_bytes / launch for launch in noisy(random, message_bytes / rate, spread=0.002)]
    return summary(rates, benchmark, "bandwidth_bytes_per_s", unit="B/s", message_bytes=message_bytes, **given)


def of_two_ranks(hosts: tuple[str, str]) -> tuple[Machine, list[LaunchRecord]]:
    record = golden.launch_record(1, 2, "default", 0.0)
    for process, host in zip(record["processes"], hosts, strict=True):
        process["host"] = host
    launch = LaunchRecord.model_validate(record)
    return Machine.model_validate(golden.machine()), [launch]


def windows(rate: float) -> Summary:
    random = np.random.default_rng(8)
    rates = [MIB / launch for launch in noisy(random, MIB / rate, spread=0.002)]
    given = {"completion": "nonblocking", "window": 64}
    return summary(rates, "mpi.bandwidth", "bandwidth_bytes_per_s", unit="B/s", message_bytes=MIB, **given)


def test_in_memory_the_better_of_queue_and_attach_stands_under_the_library() -> None:
    machine, launches = of_two_ranks(("node1", "node1"))
    known = [network("network.bandwidth", "shm", 9e9), network("network.bandwidth", "cma", 12e9), windows(6e9)]
    (ladder,) = build_ladders(measured(known, launches, machine))
    rungs = by_layer(ladder)
    assert ladder.exchange == "stream"
    assert "CMA" in rungs["network"].name
    assert rungs["mpi"].retained == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("hosts", [("node1", "node1"), ("node1", "node2")])
def test_a_fabric_library_that_is_faster_stands_under_the_library(hosts: tuple[str, str]) -> None:
    machine, launches = of_two_ranks(hosts)
    slower = [network("network.bandwidth", protocol, 5e9) for protocol in ("tcp", "shm", "libfabric")]
    known = [*slower, network("network.bandwidth", "ucx", 12e9), windows(6e9)]
    ladder = build_ladders(measured(known, launches, machine))[0]
    rungs = by_layer(ladder)
    assert "UCX" in rungs["network"].name
    assert rungs["mpi"].retained == pytest.approx(0.5, rel=0.02)


def test_rungs_of_the_same_launches_are_held_against_each_other_in_each() -> None:
    """The machine is up to three times as slow in some launches, which says nothing of the library."""
    machine, launches = of_two_ranks(("node1", "node1"))
    slowness = {1: 1.0, 2: 3.0, 3: 1.1, 4: 2.9, 5: 3.1, 6: 1.0}

    def slowed(one: Summary) -> Summary:
        rates = [rate / slowness[n] for n, rate in enumerate(one.launch_medians, start=1)]
        bounds = {"median": float(np.median(rates)), "ci_low": min(rates), "ci_high": max(rates)}
        return one.model_copy(update={"launch_medians": rates, "launch_numbers": list(slowness), **bounds})

    known = [slowed(network("network.bandwidth", "shm", 12e9)), slowed(windows(6e9))]
    (ladder,) = build_ladders(measured(known, launches, machine))
    mpi = by_layer(ladder)["mpi"]
    assert mpi.paired_launches == 6
    assert mpi.retained == pytest.approx(0.5, rel=0.02)
    assert mpi.retained_low is not None
    assert mpi.retained_high is not None
    assert mpi.retained_high / mpi.retained_low < 1.05


def test_a_share_that_scatters_is_that_of_the_printed_figures() -> None:
    """A copy that is twice as fast in some launches: the median share would belong to no printed pair."""

    def figure(launches: list[float]) -> PerLaunch:
        value = float(np.median(launches))
        estimate = Estimate(value=value, low=min(launches), high=max(launches))
        return PerLaunch(estimate, dict(enumerate(launches)))

    limit = LadderStep("limit", "copy", figure([23.5, 22.9, 42.4, 42.5, 41.9, 42.4, 22.8, 23.2, 41.9, 23.1]))
    messages = LadderStep("network", "messages", figure([13.2] * 9))
    rung = successive([limit, messages], "B/s")[1]
    assert rung.paired_launches == 9
    assert rung.retained == pytest.approx(13.2 / float(np.median([23.5, 41.9])))
    assert rung.retained_low == pytest.approx(13.2 / 42.4, rel=0.02)


def test_a_cable_is_no_rung_of_a_path_inside_a_host() -> None:
    machine, launches = of_two_ranks(("node1", "node1"))
    (ladder,) = build_ladders(
        measured([network("network.bandwidth", "tcp", 3e9), windows(6e9)], launches, machine)
    )
    assert "network" not in by_layer(ladder)


def test_both_exchanges_have_a_ladder_where_both_were_measured() -> None:
    machine, launches = of_two_ranks(("node1", "node2"))
    random = np.random.default_rng(9)
    rates = [MIB / launch for launch in noisy(random, MIB / 0.8e9, spread=0.002)]
    given = {"mode": "standard", "completion": "blocking"}
    echo = summary(rates, "mpi.latency", "bandwidth_bytes_per_s", unit="B/s", message_bytes=MIB, **given)
    known = [
        network("network.latency", "tcp", 1e9),
        network("network.bandwidth", "tcp", 1.1e9),
        echo,
        windows(1e9),
    ]
    known.append(network("network.bandwidth", "ethernet", 1.2e9))
    first, second = build_ladders(measured(known, launches, machine))
    assert (first.exchange, second.exchange) == ("ping-pong", "stream")
    assert by_layer(first)["mpi"].retained == pytest.approx(0.8, rel=0.02)
    assert list(by_layer(second))[:4] == ["limit", "frames", "network", "mpi"]
    assert by_layer(second)["network"].retained == pytest.approx(1.1 / 1.2, rel=0.02)


def test_limits_are_lines_for_each_protocol(golden_copy: Path) -> None:
    golden.shorten(golden_copy)
    between_hosts(golden_copy, LINK)
    lines = read_json(RunDirectory(golden_copy).models, Models).limits
    latency = next(line for line in lines if line.metric == "latency_s" and line.protocols == ["tcp"])
    assert "frames of 1500 B at 25.0 Gbit/s over eth0" in latency.name
    points = {point.message_bytes: point.value for point in latency.points}
    assert set(points) == set(golden.TCP_SIZES)
    assert points[1] == pytest.approx(91 * 8 / 25e9)
    # 4 MiB are 2896 full segments of 1448 B and one of 896 B.
    assert points[4194304] == pytest.approx((2896 * 1538 + 896 + 52 + 38) * 8 / 25e9)
