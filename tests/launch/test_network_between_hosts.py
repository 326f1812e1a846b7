"""`network.*` between two hosts: the interface that was chosen, and active messages over both ways to the wire."""

from __future__ import annotations

from pathlib import Path

from hpcscope.machine.machine import MpiInstallation
from tests.cli.scope_command import samples
from tests.launch.test_namespaces import FIRST, SECOND, Cluster, cluster

__all__ = ["cluster"]

HOSTS = ("--hosts", f"{FIRST}:1,{SECOND}:1")


def test_active_messages_cross_the_cable_by_both_wires_with_and_without_flow_control(
    cluster: Cluster, embedded: MpiInstallation, tmp_path: Path
) -> None:
    before = cluster.received_bytes(SECOND)
    answer = cluster.run(
        tmp_path,
        embedded,
        *HOSTS,
        *("--case", "network.latency ranks=2 protocol=active_messages wire=xdp,packet message_bytes=1,100001"),
        *("--case", "network.bidirectional ranks=2 protocol=active_messages flow=none message_bytes=100000"),
        *("--case", "network.latency ranks=2 protocol=tcp message_bytes=1"),
    )
    assert answer.code == 0, answer.errors
    cases = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert [case["status"] for case in cases] == ["ok"] * 6, [case["reason"] for case in cases]
    told = {case["parameters"]["wire"]: case["settings"]["wire"] for case in cases if "settings" in case}
    assert told["xdp"].startswith("AF_XDP")
    assert told["packet"].startswith("AF_PACKET on eth0")
    for case in cases:
        assert case["verification"]["checks"] >= int(case["parameters"]["message_bytes"])
        assert case["series"][0]["observed"]["retransmitted_packets"]
    assert cluster.received_bytes(SECOND) - before > 300_000


def test_without_the_capability_the_case_names_the_command_and_the_rest_goes_on(
    cluster: Cluster, embedded: MpiInstallation, tmp_path: Path
) -> None:
    unprivileged = Cluster(cluster.folder, cluster.prefix, ("setpriv", "--bounding-set=-net_raw", "--"))
    answer = unprivileged.run(
        tmp_path,
        embedded,
        *HOSTS,
        *("--case", "network.latency ranks=2 protocol=active_messages message_bytes=1"),
        *("--case", "network.latency ranks=2 protocol=tcp message_bytes=1"),
    )
    cases = {
        line["parameters"]["protocol"]: line for line in samples(tmp_path / "run") if line["record"] == "case"
    }
    assert (cases["active_messages"]["status"], cases["tcp"]["status"]) == ("unavailable", "ok")
    assert "setcap cap_net_raw+ep " in cases["active_messages"]["reason"]
    assert "network.latency: rank 0 on scope-a: " in answer.errors
