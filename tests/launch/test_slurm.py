"""Runs under a real Slurm: inside jobs, submitted, cut off by limits, refused, spread over hosts and pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scope.machine.machine import MpiInstallation, NativeBuild
from tests.cli.scope_command import samples
from tests.launch import slurm_cluster
from tests.launch.slurm_cluster import NODES, SlurmCluster

FIRST, SECOND, _ = NODES
QUICK = ["--launches", "1", "--seed", "3", "--budget", "0.05", "--binding", "none", "--interface", "eth0"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture
def slurm(cluster: SlurmCluster) -> Iterator[SlurmCluster]:
    """The cluster with an empty queue, which every test must leave empty."""
    assert cluster.queue() == []
    yield cluster
    cluster.wait_until_empty()


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in samples(run) if line["record"] == kind]


def places(run: Path) -> dict[str, list[str]]:
    """Return the host of each rank by the launch's placement."""
    return {
        line["placement"]: [process["host"] for process in line["processes"]] for line in records(run, "launch")
    }


@pytest.mark.parametrize("kind", ["slurm", "mpiexec"])
def test_inside_a_job_ranks_fill_its_hosts(
    slurm: SlurmCluster, mpi: MpiInstallation, build: NativeBuild, kind: str, tmp_path: Path
) -> None:
    # Debian's MPICH 4.0.2 with UCX over TCP now and then hangs at the end where two ranks share a host.
    shared = not (mpi.name == "mpich" and mpi.version.startswith("4.0"))
    words = ["--case", "mpi.barrier transport=tcp ranks=4"] if shared else []
    answer = slurm.allocated(
        tmp_path,
        ["--nodes=2", "--ntasks=4"],
        *("run", "--launcher", kind, "--mpi", mpi.compiler, *QUICK, "-o", "run", *words),
        *("--case", "mpi.latency transport=tcp message_bytes=1Ki placement=node"),
    )
    assert answer.code == 0, answer.errors
    run = tmp_path / "run"
    crowd = {"none": [FIRST, FIRST, SECOND, SECOND]} if shared else {}
    assert places(run) == {"node": [FIRST, SECOND], **crowd}
    assert {case["status"] for case in records(run, "case")} == {"ok"}
    machine = json.loads((run / "machine.json").read_text())
    assert [host["name"] for host in machine["hosts"]] == [FIRST, SECOND]
