"""Hosts as people, launchers and batch systems write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.launch.launcher import Site
from hpcscope.launch.reachable import refuse_unknown
from hpcscope.launch.scheduler import counted
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.hosts import Hostfile, Hosts, HostSlots, Nodes, hostnames


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("node1\nnode1\nnode2\nnode2\n", ["node1:2", "node2:2"]),
        ("node1\nnode1\nnode2\n", ["node1:2", "node2:1"]),
        ("node1\nnode2\n", ["node1", "node2"]),
        ("node1 slots=16 max_slots=16\nnode2 slots = 16 max-slots=16\n", ["node1:16", "node2:16"]),
        ("node1 max_slots=16\n", ["node1"]),
        ("\ufeffnode1:2\r\n# a comment\r\nnode2:2 # another\r\n", ["node1:2", "node2:2"]),
        ("localhost\nlocalhost\n", ["localhost:2"]),
        ("fe80::1\n[2001:DB8:0::2]:4\n", ["[fe80::1]", "[2001:db8::2]:4"]),
        ("node[1-3]:2\n", ["node1:2", "node2:2", "node3:2"]),
    ],
)
def test_a_host_file(text: str, found: list[str], tmp_path: Path) -> None:
    (file := tmp_path / "hosts").write_text(text)
    assert list(map(str, Hostfile().typed(str(file)))) == found


@pytest.mark.parametrize(
    "line", ["n1 slots=", "n1 slots=x", "n1 cores=4", "n1 4", "n1 slots=0", "n1:2 slots=2", "n[2-1]"]
)
def test_a_line_that_is_none_is_named(line: str, tmp_path: Path) -> None:
    (file := tmp_path / "hosts").write_text(f"node1\n{line}\n")
    with pytest.raises(ValueError, match=r"hosts:2: "):
        Hostfile().typed(str(file))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,a,b", [HostSlots("a", 2), HostSlots("b", 1)]),
        ("localhost,localhost", [HostSlots("localhost", 2)]),
        (
            "n[08-10]:2,[::1]:3,fe80::2",
            [*(HostSlots(f"n{n}", 2) for n in ("08", "09", "10")), HostSlots("::1", 3), HostSlots("fe80::2")],
        ),
    ],
)
def test_hosts_that_are_typed(text: str, found: list[HostSlots]) -> None:
    assert list(Hosts().typed(text)) == found
    assert Hosts().typed(Hosts().words(found)) == tuple(found)


@pytest.mark.parametrize("text", ["[fe80::zz]:2", "a:b:c", "[::1]:0", "[n1]:2", "", "a,,b", "n[1", "-n"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        Hosts().typed(text)


@pytest.mark.parametrize(
    "text", ["n[1-2,]", "n[10-08]", "n[1--3]", "n[]", "n[1-2", "n1]", "n[a-b]", "a;b", "a,,b", "n1:2"]
)
def test_a_malformed_list_of_nodes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        Nodes().read(text)


def test_a_list_of_nodes_stays_as_slurm_spells_it() -> None:
    assert Nodes().read("n[1-2,07]x[0-1],b") == "n[1-2,07]x[0-1],b"
    assert hostnames("n[1-2,07]x[0-1],b") == ["n1x0", "n1x1", "n2x0", "n2x1", "n07x0", "n07x1", "b"]


def test_an_address_that_no_mpiexec_takes_is_refused_before_it_starts() -> None:
    mpi = MpiInstallation(
        name="openmpi", version="5.0", origin="path", compiler="/x/mpicxx", launcher="/x/mpiexec"
    )
    with pytest.raises(UsageError, match=r"launcher\.hosts = 2001:db8::2: mpiexec reads .* as slots"):
        refuse_unknown(Site(mpi=mpi, mpiexec="/x/mpiexec", hosts=Hosts().typed("[2001:db8::2]:4")))


def test_names_of_a_job_are_its_slots_where_one_is_named_again() -> None:
    assert counted(["a", "a", "b"]) == {"a": 2, "b": 1}
    assert counted(["a", "b"]) == {"a": None, "b": None}
    assert counted([]) == {}
