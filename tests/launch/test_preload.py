"""`transport=collectives`: the library below a program's ranks, for real; without a topology it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scope.errors import UsageError
from scope.launch import launcher
from scope.launch.launcher import Job
from scope.launch.preload import preloaded
from scope.machine.machine import MpiInstallation, NativeBuild
from scope.plan import experiment
from tests.cli.scope_command import BRIEF, samples, scope

JOB = Job("program", ("--one",), 2, transport="collectives.broadcast.flat_binomial")


def test_other_transports_are_left_alone(embedded: MpiInstallation) -> None:
    site = launcher.site(embedded, experiment.Launcher(), "the test")
    job = Job("program", (), 2, transport="tcp")
    assert preloaded(job, site) is job


def test_a_topology_is_needed_and_must_be_there(embedded: MpiInstallation, tmp_path: Path) -> None:
    site = launcher.site(embedded, experiment.Launcher(), "the test")
    with pytest.raises(UsageError, match=r"transport = collectives.broadcast.flat_binomial: needs a topology"):
        preloaded(JOB, site)
    with pytest.raises(UsageError, match=r"launcher.topology = nowhere: no such file"):
        launcher.site(embedded, experiment.Launcher(topology="nowhere"), "the test")


def test_a_case_runs_over_the_library(embedded_build: NativeBuild, tmp_path: Path) -> None:
    import socket

    (tmp_path / "topology.toml").write_text(
        'format = 1\norigin = "measured"\n[host]\nlatency_s = 1e-6\nbandwidth_bytes_per_s = 5e9\n'
        f'[[group]]\nname = "here"\nlevel = "cluster"\nhosts = ["{socket.gethostname()}"]\n'
        "latency_s = 1e-5\nbandwidth_bytes_per_s = 1e9\n"
    )
    words = ["--case", "mpi.broadcast ranks=2 message_bytes=1Ki transport=collectives.broadcast.flat_binomial"]
    answer = scope(tmp_path, "run", *BRIEF, *words, "--launches", "1", "--topology", "topology.toml", "-o", "run")
    assert answer.code == 0, answer
    case = next(line for line in samples(tmp_path / "run") if line["record"] == "case")
    assert case["status"] == "ok"
    assert case["verification"]["passed"]
    assert (tmp_path / "run" / "topology.toml").is_file()
    refused = scope(tmp_path, "run", *BRIEF, *words, "--launches", "1")
    assert "needs a topology" in refused.errors
    assert refused.code == 2
    unknown = scope(tmp_path, "run", *BRIEF, "--case", "mpi.broadcast transport=collective")
    assert "must be one of default, tcp, collectives; did you mean collectives?" in unknown.refusal()
