import json
from pathlib import Path
from typing import Any

import pytest

from scope.cli.analyze import analyze
from scope.models.fit import Ladder, Models, Rung
from scope.models.limits import TCP_IP_TIMESTAMPS, asymptotic_bytes_per_s
from scope.rundirectory import RunDirectory, read_json
from tests import golden_run as golden


def ladders(run: Path) -> dict[tuple[str, str], Ladder]:
    return {
        (ladder.path, ladder.quantity): ladder for ladder in read_json(RunDirectory(run).models, Models).ladders
    }


def by_layer(ladder: Ladder) -> dict[str, Rung]:
    return {rung.layer: rung for rung in ladder.rungs}


def test_shared_memory_from_copy_to_algorithm(golden_run: Path) -> None:
    rungs = by_layer(ladders(golden_run)["shared memory inside a host", "bandwidth_bytes_per_s"])
    assert list(rungs) == ["limit", "mpi", "operation", "algorithm"]
    assert rungs["limit"].value == pytest.approx(40e9 / 2, rel=0.02), "payload, not read plus written"
    assert "arrays of 4 MiB" in rungs["limit"].name
    assert rungs["mpi"].value == pytest.approx(11e9, rel=0.02)
    assert rungs["mpi"].retained == pytest.approx(11 / 20, rel=0.03)
    assert rungs["mpi"].note == "both buffers fit into the cache of 16 MiB"
    payload = 8 * 1080**2
    operation = payload / (1.4 * golden.broadcast_s(payload, 2) / 0.6)
    assert rungs["operation"].value == pytest.approx(operation, rel=0.02)
    assert rungs["operation"].retained_low is not None
    assert rungs["operation"].retained_high is not None
    assert rungs["operation"].retained_low < operation / 11e9 < rungs["operation"].retained_high
    assert rungs["operation"].of_limit == pytest.approx(operation / 20e9, rel=0.04)


def test_tcp_over_the_loopback(golden_run: Path) -> None:
    rungs = by_layer(ladders(golden_run)["TCP over the loopback", "bandwidth_bytes_per_s"])
    assert rungs["limit"].value is None
    assert rungs["limit"].reason == "the kernel does not know this link's rate"
    assert rungs["network"].retained is None
    assert rungs["mpi"].retained == pytest.approx(
        golden.line(golden.TCP, 4194304) / golden.line(golden.MPI_TCP, 4194304), rel=0.02
    )
    assert rungs["operation"].reason == "operation.broadcast was not measured here on 2 ranks"
    latency = by_layer(ladders(golden_run)["TCP over the loopback", "latency_s"])
    assert latency["mpi"].retained == pytest.approx(5 / 6.5, rel=0.02)


def between_hosts(run: Path, link: dict[str, Any]) -> None:
    machine = golden.machine()
    first = machine["hosts"][0]
    links = [*first["links"], link]
    machine["hosts"] = [dict(first, name=name, boot_id=name, links=links) for name in ("node1", "node2")]
    (run / "machine.json").write_text(json.dumps(machine))
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    for record in records:
        if record["record"] == "launch" and record["ranks"] == 2:
            record["processes"][1]["host"] = "node2"
    (run / "samples.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    analyze(run)


LINK: dict[str, Any] = {
    "name": "eth0",
    "kind": "ethernet",
    "rate_bits_per_s": 25e9,
    "mtu_bytes": 1500,
    "addresses": ["10.0.0.1"],
    "driver": "mlx5_core",
    "up": True,
}


def test_a_known_link_limits_by_its_frames(golden_copy: Path) -> None:
    between_hosts(golden_copy, LINK)
    found = ladders(golden_copy)
    rungs = by_layer(found["TCP over eth0", "bandwidth_bytes_per_s"])
    limit = asymptotic_bytes_per_s(25e9, TCP_IP_TIMESTAMPS)
    assert rungs["limit"].value == pytest.approx(limit)
    assert rungs["network"].retained == pytest.approx(1.8e9 / limit, rel=0.03)
    assert rungs["mpi"].of_limit == pytest.approx(1.5e9 / limit, rel=0.03)
    assert ("eth0 between hosts", "bandwidth_bytes_per_s") in found
    latency = by_layer(found["TCP over eth0", "latency_s"])
    assert latency["limit"].value == pytest.approx(91 * 8 / 25e9), "38 B around 53 B of headers and payload"


def test_a_link_of_unknown_rate_says_so(golden_copy: Path) -> None:
    between_hosts(golden_copy, LINK | {"kind": "virtual", "rate_bits_per_s": None})
    rungs = by_layer(ladders(golden_copy)["TCP over eth0", "bandwidth_bytes_per_s"])
    assert rungs["limit"].reason == "the kernel does not know this link's rate"


def test_without_stream_there_is_no_limit_but_the_rest_stands(golden_copy: Path) -> None:
    lines = (golden_copy / "samples.jsonl").read_text().splitlines()
    (golden_copy / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines if "node.stream" not in line))
    analyze(golden_copy)
    rungs = by_layer(ladders(golden_copy)["shared memory inside a host", "bandwidth_bytes_per_s"])
    assert rungs["limit"].reason == "node.stream kernel=copy was not measured on one rank"
    assert rungs["mpi"].value is not None
    assert rungs["mpi"].retained is None
    assert rungs["operation"].retained is not None
