"""Runs in a lab whose links have faults: what Scope counts and finds there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcscope.cli import dispatch
from hpcscope.engine import lab as labs
from hpcscope.errors import UsageError
from hpcscope.lab import faults
from hpcscope.lab.entry import Emulation
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.fault import Disturbance
from tests.cli.scope_command import samples
from tests.lab.small_lab import in_lab
from tests.messages import mentions

Harm = Callable[[Emulation], Emulation]


def findings(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "findings.json").read_text())["findings"]
    return found


def with_verified(lab: Emulation, mpi: MpiInstallation) -> Emulation:
    """Return the lab in which the path of an MPI counts as verified: long messages would hang on a faulty one."""
    return lab.kept(lab.state.model_copy(update={"verified": [mpi.compiler]}))


@pytest.mark.slow("16 s of repeated packets; there, lost frames are repeated and counted in test_wires")
def test_over_a_lossy_port_nothing_is_lost_and_what_is_repeated_is_counted(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path
) -> None:
    # Of the thousands of frames of each case none would be lost once in more runs than there will ever be.
    lossy = with_verified(faults.faulty_link(healthy, "a2", "lossy", 0.02), embedded)
    where = "ranks=2 placement=node protocol=active_messages flow=credits,none"
    cases = f"network.bandwidth {where} window=4 message_bytes=200000"
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.1", "--seed", "3", "--hosts", "a1,a2"]
    answer = in_lab(lossy, tmp_path, "run", *fixed, "-o", "run", "--case", cases)
    assert answer.code == 0, answer.errors
    measured = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert [case["status"] for case in measured] == ["ok", "ok"]
    for case in measured:
        assert max(case["series"][0]["observed"]["retransmitted_packets"][0]) > 0, "rank 0 sends"
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["faults"] == [fault.words() for fault in lossy.state.faults] != []
    port = next(link for link in machine["hosts"][0]["links"] if link["name"] == "eth0")
    assert (port["rate_bits_per_s"], len(machine["hosts"][0]["links"])) == (50e6, 2)


def test_a_link_that_drops_large_packets_is_told(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path
) -> None:
    hole = with_verified(faults.faulty_link(healthy, "a-c", "black-hole", 1200), embedded)
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.3", "--seed", "3", "--hosts", "a1,c1"]
    case = "network.largest_packet ranks=2 placement=node"
    answer = in_lab(hole, tmp_path, "run", *fixed, "-o", "run", "--case", case)
    assert answer.code == 0, answer.errors
    (finding,) = [one for one in findings(tmp_path / "run") if one["code"] == "mtu-black-hole"]
    assert finding["where"]["pair"] == "a1, c1"
    largest = [each["value"] for each in finding["evidence"] if each["value"] == 1200]
    assert len(largest) == 2, "in both directions"
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["faults"] == [fault.words() for fault in hole.state.faults] != []


BRIEF = """
[sampling]
minimum_repetitions = 1
maximum_repetitions = 2
"""
DIRECTIONS = """
[[case]]
benchmark = "network.directions"
ranks = 2
placement = "node"
load_ms = 60
"""
PAUSES = """
[[case]]
benchmark = "network.pauses"
ranks = 2
placement = "node"
train_ms = 100
"""
LOADED = """
[[case]]
benchmark = "network.congestion"
ranks = 2
placement = "node"
load_ms = 50
"""


@pytest.mark.slow(
    "finds faults of a path by rates and pauses that are really measured; tests/findings/test_paths.py proves the"
    " same findings, and their silence on a healthy path, on samples whose truth is known"
)
@pytest.mark.parametrize(
    ("harm", "cases", "codes"),
    [
        (
            lambda lab: faults.faulty_link(lab, "a-c", "half-duplex", 1),
            DIRECTIONS,
            {"half-duplex"},
        ),
        (lambda lab: faults.faulty_link(lab, "a-c", "slow", 4, "out"), DIRECTIONS, {"asymmetric-rates"}),
        (lambda lab: faults.faulty_link(lab, "a-c", "pausing", 20), PAUSES, {"path-stops"}),
        (lambda lab: faults.faulty_link(lab, "a-c", "policing", 2), LOADED, {"unfair-streams"}),
        (lambda lab: lab, DIRECTIONS + PAUSES + LOADED, set()),
    ],
    ids=["half duplex", "asymmetric", "pauses", "policer", "healthy"],
)
def test_faults_of_a_path_are_found_and_a_healthy_path_has_none(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path, harm: Harm, cases: str, codes: set[str]
) -> None:
    lab = with_verified(harm(healthy), embedded)
    (tmp_path / "brief.toml").write_text(BRIEF + cases)
    fixed = ["--mpi", embedded.compiler, "--launches", "6", "--budget", "0.05", "--seed", "3", "--hosts", "a1,c1"]
    answer = in_lab(lab, tmp_path, "run", "brief.toml", *fixed, "-o", "run")
    assert answer.code == 0, answer.errors
    found = {one["code"] for one in findings(tmp_path / "run")}
    of_paths = {"half-duplex", "asymmetric-rates", "path-stops", "lossy-path", "unfair-streams", "lost-under-load"}
    assert codes <= found
    if not codes:
        assert not of_paths & found


def test_the_cases_of_a_path_run_in_a_lab(healthy: Emulation, embedded: MpiInstallation, tmp_path: Path) -> None:
    lab = with_verified(healthy, embedded)
    (tmp_path / "brief.toml").write_text(BRIEF + DIRECTIONS + PAUSES + LOADED)
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.05", "--seed", "3", "--hosts", "a1,c1"]
    answer = in_lab(lab, tmp_path, "run", "brief.toml", *fixed, "-o", "run")
    assert answer.code == 0, answer.errors
    measured = {line["benchmark"]: line for line in samples(tmp_path / "run") if line["record"] == "case"}
    assert {name: case["status"] for name, case in measured.items()} == dict.fromkeys(
        ("network.directions", "network.pauses", "network.congestion"), "ok"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mtu", "1500"], "--mtu 1500: ... 68 ... 1499"),
        (["--pause", "nan"], "--pause nan: ... 0 ... 99"),
        (["--loss", "1"], "--loss 1: ... 0% ... 99.9%"),
        (["--direction", "up"], "--direction up: ... both, in, out"),
    ],
)
def test_amounts_of_faults_are_checked(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("lab", ["fault", "grid", "--trunk", "a-c", *words]) == 2
    assert mentions(capsys.readouterr().err, said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Disturbance(trunk="a-c"), r"exactly one of --rate, --loss, .*--half-duplex, .*--clear"),
        (Disturbance(trunk="a-c", half_duplex=True, policed_mbit_per_s=3.0), "exactly one of"),
        (Disturbance(dead=True), "must have either --host or --trunk"),
        (Disturbance(trunk="a-c", stop=True), "must go with --host"),
    ],
)
def test_a_fault_is_one_disturbance_of_one_place(asked: Disturbance, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        labs._refuse(asked)
