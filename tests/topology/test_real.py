"""Clusters of namespaces: found over a real network, by the command that a person types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcscope.lab import description, emulation, faults
from hpcscope.lab.entry import Emulation
from hpcscope.machine.machine import NativeBuild
from hpcscope.topology.topology import read
from tests.cli.scope_command import SCOPE
from tests.lab.small_lab import refuse_without_namespaces
from tests.patience import PATIENCE_S

TWO_SWITCHES = """
[[group]]
name = "a"
hosts = 3
ranks_per_host = 2
rate_mbit_per_s = 40
[[group]]
name = "b"
hosts = 3
ranks_per_host = 2
rate_mbit_per_s = 40
[[trunk]]
between = ["a", "b"]
rate_mbit_per_s = 40
"""
PAYLOAD = 40 * 125e3 * 0.95


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulation]:
    refuse_without_namespaces()
    file = tmp_path_factory.mktemp("lab") / "two.toml"
    file.write_text(TWO_SWITCHES)
    with emulation.temporary(*description.read(str(file))) as up:
        yield up


def discovered(lab: Emulation, build: NativeBuild, folder: Path, *words: str) -> dict[str, Any]:
    file = str(folder / "topology.toml")
    command = [str(SCOPE), "topology", "discover", "--mpi", build.mpi.compiler, "-o", file, "--json", *words]
    answer = lab.run("a1", command, timeout=PATIENCE_S)
    assert answer.stdout, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    assert answer.returncode == 0, (found["check"], found["notes"])
    return found


def test_the_hosts_of_a_real_network_are_found(
    lab: Emulation, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    """Whatever rates a busy machine lets them have: each rate is above none, and the file can be read again."""
    file = tmp_path / "topology.toml"
    words = ["--mpi", embedded_build.mpi.compiler, "-o", str(file), "--json", "--hosts", "a1:2,b1:2"]
    answer = lab.run("a1", [str(SCOPE), "topology", "discover", *words], timeout=PATIENCE_S)
    assert answer.returncode in (0, 1), answer.stderr
    found = json.loads(answer.stdout)
    assert found["check"]["passed"] == (answer.returncode == 0)
    topology = read(file)
    assert (topology.origin, sorted(topology.hosts)) == ("emulated", ["a1", "b1"])
    assert topology.host is not None
    assert topology.host.bandwidth_bytes_per_s > 0


SLOW = pytest.mark.slow(
    "compares rates that are really measured over a lab of six hosts; tests/topology/test_discovery.py and"
    " test_findings.py prove the same groups, exceptions and findings on clusters whose rates are known"
)


@SLOW
def test_two_switches_are_found(lab: Emulation, embedded_build: NativeBuild, tmp_path: Path) -> None:
    mixed = "a1,b1,a2,b2,a3,b3"
    found = discovered(
        lab, embedded_build, tmp_path, "--hosts", ",".join(f"{host}:2" for host in mixed.split(","))
    )
    topology = found["topology"]
    assert topology["origin"] == "emulated"
    hosts = {group["name"]: group["hosts"] for group in topology["group"] if group["hosts"]}
    assert hosts == {"a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]}
    assert topology["exception"] == []
    for group in topology["group"]:
        assert group["bandwidth_bytes_per_s"] == pytest.approx(PAYLOAD, rel=0.1)
        assert group["uplink_bytes_per_s"] is None or group["uplink_bytes_per_s"] == pytest.approx(
            PAYLOAD, rel=0.15
        )
    assert topology["host"]["bandwidth_bytes_per_s"] > 10 * PAYLOAD
    codes = [finding["code"] for finding in found["findings"]]
    assert "trunk-shared" in codes
    assert "placement-against-topology" in codes
    drawn = lab.run("a1", [str(SCOPE), "topology", "show", str(tmp_path / "topology.toml")])
    assert "a1-3" in drawn.stdout


@SLOW
def test_a_slow_port_is_an_exception(lab: Emulation, embedded_build: NativeBuild, tmp_path: Path) -> None:
    slowed = faults.faulty_link(lab, "b2", "slow", 4, "in")
    try:
        found = discovered(slowed, embedded_build, tmp_path)
    finally:
        faults.clear(slowed)
    assert [each["host"] for each in found["topology"]["exception"]] == ["b2"]
    assert found["topology"]["exception"][0]["bandwidth_bytes_per_s"] == pytest.approx(PAYLOAD / 10, rel=0.15)
    (finding,) = [each for each in found["findings"] if each["code"] == "duplex-mismatch"]
    assert finding["where"]["host"] == "b2"
