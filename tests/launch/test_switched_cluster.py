"""Four hosts on a switch for real, as network namespaces: one with a slow link, one of another type."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcscope.machine.machine import NativeBuild
from tests.cli.scope_command import samples
from tests.launch.test_namespaces import AGENT, ENTER, Cluster, ip
from tests.patience import PATIENCE_S

HOSTS = {f"scope-{letter}": f"10.79.232.{number}" for number, letter in enumerate("abcd", start=1)}
SLOW, ODD = "scope-c", "scope-d"
FAST_MBIT, SLOW_MBIT = 50, 5
"""Even the fast links are slow: what a crowded machine adds is little beside them."""


@pytest.fixture(autouse=True)
def yielding(monkeypatch: pytest.MonkeyPatch) -> None:
    """More hosts than processors: who waits must let others go on, which the library cannot know here."""
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    if not all(map(shutil.which, ("ip", "tc", "nsenter", "unshare", "taskset"))):
        pytest.skip("ip, tc, nsenter, unshare or taskset is not installed")
    folder = tmp_path_factory.mktemp("switched")
    prefix = f"u{os.getpid()}-"
    switch = prefix + "switch"
    made = []
    try:
        try:
            for name in (switch, *(prefix + host for host in HOSTS)):
                ip("netns", "add", name)
                made.append(name)
            ip("-n", switch, "link", "add", "br0", "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        ip("-n", switch, "link", "set", "br0", "up")
        for host, address in HOSTS.items():
            port, name = f"p-{host[-1]}", prefix + host
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", switch)
            ip("-n", switch, "link", "set", port, "master", "br0", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        for host in HOSTS:
            rate = f"{SLOW_MBIT if host == SLOW else FAST_MBIT}mbit"
            for place, interface in ((prefix + host, "eth0"), (switch, f"p-{host[-1]}")):
                shaped = ["tbf", "rate", rate, "burst", "10kb", "latency", "400ms"]
                command = ["tc", "-n", place, "qdisc", "add", "dev", interface, "root", *shaped]
                subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        names = [f"{address} {host}\n" for host, address in HOSTS.items()]
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(names))
        for name, text in (("enter", ENTER), ("agent", AGENT)):
            (folder / name).write_text(text.format(folder=folder, prefix=prefix))
            (folder / name).chmod(0o755)
        # One host lets its processes use one processor only: another type of node.
        enter = (folder / "enter").read_text()
        (folder / "enter").write_text(enter.replace("host=$1; shift\n", f"host=$1; shift\n{_one_processor()}"))
        yield Cluster(folder, prefix)
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=PATIENCE_S)


def _one_processor() -> str:
    return f"[[ $host == {ODD} ]] && taskset -p 1 $$ >/dev/null\n"


def findings(run: Path, code: str) -> list[dict[str, Any]]:
    everything = json.loads((run / "findings.json").read_text())["findings"]
    return [finding for finding in everything if finding["code"] == code]


def run(cluster: Cluster, folder: Path, build: NativeBuild, launches: int, *cases: str) -> Path:
    hosts = ",".join(f"{host}:1" for host in HOSTS)
    fixed = ["--hosts", hosts, "--launches", str(launches), "--budget", "0.05"]
    answer = cluster.run(folder, build.mpi, *fixed, *(word for case in cases for word in ("--case", case)))
    assert answer.code == 0, answer.errors
    return folder / "run"


@pytest.mark.slow(
    "finds a slow link by rates that are really measured; tests/findings/test_slow_pairs.py proves model and"
    " finding on times whose truth is known, the other test here that ranks of all four hosts talk"
)
def test_the_host_with_the_slow_link_is_named(
    switched: Cluster, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    case = "mpi.pairs ranks=nodes placement=node transport=tcp round=0..ranks-1 message_bytes=64Ki"
    folder = run(switched, tmp_path, embedded_build, 4, case)
    (matrix,) = json.loads((folder / "models.json").read_text())["pairs"]
    assert sorted(matrix["names"]) == sorted(HOSTS)
    assert [slow["members"] for slow in matrix["slow_processes"]] == [[SLOW]]
    assert matrix["slow_pairs"] == []
    assert matrix["slow_between"] is None
    (found,) = findings(folder, "slow-host-messages")
    assert found["where"]["host"] == SLOW


def test_types_of_node_are_measured_apart(switched: Cluster, embedded_build: NativeBuild, tmp_path: Path) -> None:
    folder = run(switched, tmp_path, embedded_build, 1, "mpi.barrier ranks=all nodes=types transport=tcp")
    launches = [line for line in samples(folder) if line["record"] == "launch"]
    where = {line["placement"]: sorted(p["host"] for p in line["processes"]) for line in launches}
    assert where["none:type1"] == [host for host in HOSTS if host != ODD]
    (found,) = findings(folder, "node-types")
    assert found["where"]["host"] == ODD
    assert [each["what"].split(":")[0] for each in found["evidence"]] == ["type1", "type2"]
