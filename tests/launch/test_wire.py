"""Transports over a cable between two hosts, and a wire that a shaper narrows: which layer holds back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hpcscope.build import fabrics
from hpcscope.machine.machine import NativeBuild
from tests.cli.scope_command import samples
from tests.launch.test_namespaces import FIRST, SECOND, Cluster, cluster
from tests.patience import PATIENCE_S

__all__ = ["cluster"]

APART = ("--hosts", f"{FIRST}:1,{SECOND}:1", "--ranks-per-host", "1")


def shaped(hosts: Cluster, rate: str, longest_wait: str = "100ms") -> None:
    """Let each host send no faster than this over the cable; what would wait longer is dropped."""
    for host in (FIRST, SECOND):
        where = ["tc", "-n", hosts.prefix + host, "qdisc", "replace", "dev", "eth0", "root"]
        words = [*where, "tbf", "rate", rate, "burst", "32kb", "latency", longest_wait]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
        if ended.returncode != 0:
            pytest.skip(f"no shaper here: {ended.stderr.strip()}")


def test_frames_and_datagrams_cross_the_cable_and_memory_does_not(
    cluster: Cluster,
    embedded_build: NativeBuild,
    tmp_path: Path,
) -> None:
    protocols = "protocol=tcp,udp,ethernet,unix,shm,cma"
    answer = cluster.run(
        tmp_path,
        embedded_build.mpi,
        *APART,
        *("--case", f"network.latency {protocols} message_bytes=1,100000"),
        *("--case", "network.bidirectional protocol=udp,ethernet flow=credits,none message_bytes=100000 window=4"),
    )
    assert answer.code == 0, answer.errors
    cases = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    for case in cases:
        local = case["parameters"]["protocol"] in ("unix", "shm", "cma")
        assert case["status"] == ("unavailable" if local else "ok"), case["reason"]
        assert bool(case["reason"]) == local
    assert len(cases) == 16


def test_fabrics_cross_the_cable(
    cluster: Cluster,
    embedded_build: NativeBuild,
    tmp_path: Path,
) -> None:
    found = ",".join(fabric.name for fabric in fabrics.find(embedded_build.mpi.compiler))
    if not found:
        pytest.skip("no fabric library and header is here")
    answer = cluster.run(
        tmp_path,
        embedded_build.mpi,
        *APART,
        *("--case", f"network.latency protocol={found} message_bytes=1,100001"),
        *("--case", f"network.bidirectional protocol={found} message_bytes=100001 window=4"),
    )
    assert answer.code == 0, answer.errors
    cases = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert {case["status"] for case in cases} == {"ok"}, cases
    assert {case["parameters"]["protocol"] for case in cases} == set(found.split(","))


@pytest.mark.slow(
    "finds the narrow layer by rates that are really measured; tests/findings/test_kinds.py proves the finding on"
    " times whose truth is known, the first test here that both layers are measured over the cable"
)
def test_a_narrow_wire_is_found_to_hold_back(
    cluster: Cluster,
    embedded_build: NativeBuild,
    tmp_path: Path,
) -> None:
    shaped(cluster, "50mbit")  # so slow that what else this machine does is little beside it
    size = "message_bytes=1Mi"  # long beside the 32 kB that the shaper lets through at once
    answer = cluster.run(
        tmp_path,
        embedded_build.mpi,
        *APART,
        *(
            "--case",
            f"network.latency protocol=tcp,ethernet {size}",
            "--case",
            f"mpi.latency transport=tcp {size}",
        ),
    )
    assert answer.code == 0, answer.errors
    findings = json.loads((tmp_path / "run" / "findings.json").read_text())["findings"]
    (found,) = (one for one in findings if one["code"] == "layer-bottleneck")
    assert found["where"]["layer"] == "wire"
    # Frames were measured in place of a limit: a virtual cable has no rate of its own.
    assert "raw Ethernet" in found["evidence"][0]["what"]
    assert found["evidence"][0]["value"] < 50e6 / 8 * 1.2


def test_datagrams_that_the_cable_drops_are_counted_and_made_good(
    cluster: Cluster,
    embedded_build: NativeBuild,
    tmp_path: Path,
) -> None:
    # A queue for about two of the longest datagrams: without flow control the third finds no room.
    shaped(cluster, "100mbit", "8ms")
    flood = "network.bandwidth protocol=udp message_bytes=400000 window=2"
    answer = cluster.run(tmp_path, embedded_build.mpi, *APART, "--case", f"{flood} flow=none")
    assert answer.code == 0, answer.errors
    (case,) = (line for line in samples(tmp_path / "run") if line["record"] == "case")
    assert case["status"] == "ok", case["reason"]
    assert case["verification"]["checks"] >= 400_000
    repeated = case["series"][0]["observed"]["retransmitted_packets"]
    assert max(max(rank) for rank in repeated) > 0
