"""Health of a small lab: faults of set-up are named on their hosts, and a host that hangs costs itself alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcscope.lab import faults
from hpcscope.lab.entry import Emulation
from hpcscope.rundirectory import read_json
from tests.lab.small_lab import in_lab

QUICK = ["--minutes", "0.1", "--memory", "48Mi", "--output", "run"]


def checked(lab: Emulation, folder: Path) -> dict[str, dict[str, Any]]:
    """Check the lab and return the verdict of each host; those of speed depend on what else the machine does."""
    answer = in_lab(lab, folder, "health", *QUICK, "--json")
    assert answer.code in (0, 1), answer
    said = json.loads(answer.output)
    assert answer.code == (0 if said["sound"] else 1)
    assert said["origin"] == "emulated"
    return {node["host"]: node for node in said["nodes"]}


def evidence(node: dict[str, Any]) -> str:
    return "\n".join(one["what"] for one in node["evidence"])


@pytest.fixture
def small_packets(healthy: Emulation) -> Iterator[Emulation]:
    """The lab, one host of which has another MTU than the others."""
    assert healthy.run("b1", ["ip", "link", "set", "eth0", "mtu", "1400"]).returncode == 0
    yield healthy
    healthy.run("b1", ["ip", "link", "set", "eth0", "mtu", "1500"])


@pytest.mark.slow(
    "measures four hosts in turn; there, verdicts on facts and links, and the program on one host, in tests/health"
)
def test_another_mtu_is_named_and_every_host_answers(small_packets: Emulation, tmp_path: Path) -> None:
    found = checked(small_packets, tmp_path)
    assert sorted(found) == ["a1", "a2", "b1", "c1"]
    assert [host for host, node in found.items() if "MTU" in evidence(node)] == ["b1"]
    assert "interface eth0 MTU is 1400; others: 1500" in evidence(found["b1"])
    assert "no answer" not in [node["verdict"] for node in found.values()]
    shown = in_lab(small_packets, tmp_path, "show", "run")
    assert "1 of 4 have interface eth0 MTU 1400: b1" in shown.output
    assert all(len(line) <= 80 for line in shown.output.splitlines())


@pytest.mark.slow(
    "waits for two time limits; there, verdicts of silent hosts in tests/health and a lab whose hosts answer"
)
def test_a_host_that_hangs_costs_itself_alone(healthy: Emulation, tmp_path: Path) -> None:
    faults.slow_host(healthy, "c1", 1.0)
    found = checked(healthy, tmp_path)
    assert [host for host, node in found.items() if node["verdict"] == "no answer"] == ["c1"]
    assert "no answer within" in evidence(found["c1"])
    silent = [visit for visit in read_json(tmp_path / "run" / "health.json", dict)["visits"] if visit["error"]]
    assert [visit["host"] for visit in silent] == ["c1", "c1"]  # it was tried again
