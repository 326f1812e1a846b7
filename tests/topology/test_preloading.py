"""Collectives that a run names: used for real on a lab's hosts, and refused before it where they could not be."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from hpcscope.lab import emulation
from hpcscope.machine.machine import NativeBuild
from tests.cli.scope_command import BRIEF, answered, samples, scope

CASE = "mpi.broadcast ranks={ranks} message_bytes=64Ki transport={transport}"
HOSTS = """
[[group]]
name = "a"
hosts = 2
rate_mbit_per_s = 200
[[group]]
name = "b"
hosts = 1
rate_mbit_per_s = 200
[[trunk]]
between = ["a", "b"]
rate_mbit_per_s = 50
"""
ALGORITHMS = ["flat_binomial", "multilevel_pipelined"]


def topology(path: Path, host: str) -> Path:
    path.write_text(
        'format = 1\norigin = "measured"\n[host]\nlatency_s = 1e-6\nbandwidth_bytes_per_s = 5e9\n'
        f'[[group]]\nname = "here"\nlevel = "cluster"\nhosts = ["{host}"]\n'
        "latency_s = 1e-5\nbandwidth_bytes_per_s = 1e9\n"
    )
    return path


def test_the_algorithm_of_a_sample_is_the_one_that_ran(
    embedded_build: NativeBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := emulation.refusal():
        pytest.skip(reason)
    (tmp_path / "small.toml").write_text(HOSTS)
    log = tmp_path / "log.jsonl"
    monkeypatch.setenv("SCOPE_COLLECTIVES_LOG", str(log))
    transports = ",".join(f"collectives.broadcast.{name}" for name in ALGORITHMS)
    words = ["--case", CASE.format(ranks=3, transport=transports), "--launches", "1", "-o", "run"]
    answer = scope(tmp_path, "run", "--lab", "small.toml", *BRIEF, *words)
    assert answer.code == 0, answer
    cases = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert [case["status"] for case in cases] == ["ok", "ok"]
    assert all(case["verification"]["passed"] for case in cases)
    chosen = [json.loads(line) for line in log.read_text().splitlines()]
    asked = {line["algorithm"] for line in chosen if line["operation"] == "broadcast" and line["bytes"] == 65536}
    assert asked == set(ALGORITHMS)
    assert (tmp_path / "run" / "topology.toml").is_file()


@pytest.mark.parametrize(
    ("transport", "host", "complaint"),
    [
        ("collectives.broadcast.flat_binomial", "here", "2 ranks are on {here}"),
        ("collectives", "elsewhere", 'host "{here}"'),
        ("collectives.broadcast.quick", "here", "2 hosts"),
        ("collectives.brodcast.flat_binomial", "here", "OPERATION brodcast: allowed: broadcast, "),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(
    embedded_build: NativeBuild, tmp_path: Path, transport: str, host: str, complaint: str
) -> None:
    here = socket.gethostname()
    topology(tmp_path / "topology.toml", here if host == "here" else host)
    words = ["--case", CASE.format(ranks=2, transport=transport), "--topology", "topology.toml", "-o", "run"]
    answer = answered(tmp_path, "run", *BRIEF, *words)
    assert complaint.format(here=here) in answer.errors
    assert f"transport = {transport}: " in answer.errors
    assert answer.code == 2
    assert not (tmp_path / "run").exists()


def test_a_topology_is_needed_and_must_be_there(embedded_build: NativeBuild, tmp_path: Path) -> None:
    words = ["--case", CASE.format(ranks=2, transport="collectives")]
    unnamed = answered(tmp_path, "run", *BRIEF, *words).refusal()
    assert "transport = collectives: " in unnamed
    assert "--topology FILE" in unnamed
    missing = answered(tmp_path, "run", *BRIEF, *words, "--topology", "nowhere").refusal()
    assert "launcher.topology = nowhere: " in missing
    misspelt = answered(tmp_path, "run", *BRIEF, "--case", "mpi.broadcast transport=collective").refusal()
    assert "default, tcp, active-messages, " in misspelt
    assert "collectives?" in misspelt
