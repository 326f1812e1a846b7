"""Hosts of several architectures: each gets a native program, and starts its own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.engine import builds
from hpcscope.errors import ScopeError
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import Host, MpiInstallation, NativeBuild
from hpcscope.machine.node_types import node_types
from hpcscope.plan.placement import Placement
from hpcscope.settings.hosts import HostSlots
from tests.patience import PATIENCE_S

MPI = MpiInstallation(name="openmpi", version="5.0", origin="path", compiler="/x/mpicxx", launcher="/x/mpiexec")
HERE = os.uname().machine
OTHER = "aarch64" if HERE != "aarch64" else "x86_64"


def build_of(program: str) -> NativeBuild:
    return NativeBuild(fingerprint=program, program=program, compiler="", flags="-O2", mpi=MPI, built_unix_s=0)


def host(name: str, architecture: str) -> Host:
    one = this_host()
    processor = one.processor.model_copy(update={"architecture": architecture})
    return one.model_copy(update={"name": name, "processor": processor, "links": []})


@pytest.fixture
def mixed() -> Cluster:
    hosts = [host("a", HERE), host("b", OTHER), host("c", OTHER)]
    site = Site(mpi=MPI, mpiexec="/x/mpiexec", hosts=tuple(HostSlots(one.name, 2) for one in hosts))
    return Cluster(site, hosts)


def test_hosts_of_two_domains_with_one_label_are_two() -> None:
    hosts = [host("n1.a.x", HERE), host("n1.b.x", OTHER)]
    listed = (HostSlots("n1.b.x", 2), HostSlots("n1.a.x", 2))
    cluster = Cluster(Site(mpi=MPI, mpiexec="/x/mpiexec", hosts=listed), hosts)
    assert cluster.architectures == {OTHER: listed[0], HERE: listed[1]}
    short = Site(mpi=MPI, mpiexec="/x/mpiexec", hosts=(HostSlots("n1", 2),))
    assert Cluster(short, hosts[:1]).architectures == {HERE: short.hosts[0]}
    assert Cluster(short, hosts).architectures == {}


def test_the_first_host_of_another_architecture_builds(mixed: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    def answer(site: Site, words: list[str], _timeout_s: float) -> str:
        asked.append((",".join(one.name for one in site.hosts), words[1:]))
        return f"a banner\n{build_of('/cache/other').model_dump_json(indent=1)}\n"

    monkeypatch.setattr(builds, "run_once_per_host", answer)
    cluster, others = builds.with_architectures(mixed, build_of("/cache/own"))
    assert asked == [("b", ["-m", "hpcscope", "build", "--mpi", "/x/mpicxx", "--json"])]
    assert cluster.programs == {HERE: "/cache/own", OTHER: "/cache/other"}
    assert [one.program for one in others] == ["/cache/other"]
    alike = replace(mixed, hosts=[host(name, HERE) for name in "abc"])
    assert builds.with_architectures(alike, build_of("/cache/own")) == (alike, [])
    monkeypatch.setattr(builds, "run_once_per_host", lambda *_: "command not found")
    with pytest.raises(ScopeError, match=f"host b: {OTHER}: .*: command not found"):
        builds.with_architectures(mixed, build_of("/cache/own"))


def test_each_host_starts_the_program_of_its_architecture(mixed: Cluster, tmp_path: Path) -> None:
    """The command line is carried out here, with a `uname` that says what each host would say."""
    programs = {}
    for name in (HERE, OTHER):
        file = tmp_path / f"it's for {name}"
        file.write_text('#!/bin/sh\necho "${0##*/}: $*"\n')
        file.chmod(0o755)
        programs[name] = str(file)
    cluster = replace(mixed, programs=programs)
    command = cluster.start(MpiProgram(programs[HERE], ("--plan=a b", "--x"), 4), Placement()).arguments
    words = command[command.index("sh") :]

    def said(machine: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "uname").write_text(f"#!/bin/sh\necho {machine}\n")
        (tmp_path / "uname").chmod(0o755)
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.run(words, env=path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    for name in (HERE, OTHER):
        assert said(name).stdout == f"it's for {name}: --plan=a b --x\n"
    assert said("riscv64").returncode == 126
    assert "riscv64" in said("riscv64").stderr
    others = cluster.start(MpiProgram("/bin/app", (), 4), Placement()).arguments
    assert others[-1] == "/bin/app", "programs of others are started as they are"


def test_architectures_are_types_of_node() -> None:
    hosts = [host("a", HERE), host("b", OTHER), host("c", HERE)]
    assert node_types(hosts) == [[0, 2], [1]]
