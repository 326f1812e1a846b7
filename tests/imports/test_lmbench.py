"""lmbench 3.0-a9: an excerpt of a file of results from two cores, exact to the last digit."""

from __future__ import annotations

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import Read, data, read


@pytest.fixture(scope="module")
def results() -> Read:
    return read("lmbench", data("lmbench-3-results.txt"))


def of(results: Read, benchmark: str, metric: str, **parameters: int | str) -> list[float]:
    """Return the values of the cases with these parameters."""
    rows = results.figures(benchmark, metric)
    return [one.values[0] for one in rows if parameters.items() <= one.parameters.items()]


def test_what_is_said_of_the_run(results: Read) -> None:
    assert (results.reading.program, results.reading.hosts) == ("lmbench 3.0-a9", ["vm"])
    assert results.reading.started_unix_s == 1795444368.0  # date -u -d "Mon Nov 23 14:32:48 UTC 2026" +%s
    assert results.unread == [
        "../../scripts/lmbench: line 66: version: No such file or directory",
        "unable to register (XACT_PROG, XACT_VERS, udp).",
    ]


def test_times_and_rates(results: Read) -> None:
    assert of(results, "node.lmbench_time", "time_s", operation="Simple syscall") == [0.1562e-6]
    assert of(results, "node.lmbench_time", "time_s", operation="STREAM copy latency") == [0.27e-9]
    rate = "bandwidth_bytes_per_s"
    assert of(results, "node.lmbench_bandwidth", rate, operation="File /scratch/file write") == [445208e3]
    assert of(results, "node.lmbench_bandwidth", rate, operation="HTTP") == [34.87e6]
    assert of(results, "node.lmbench_bandwidth", rate, operation="AF_UNIX sock stream") == [3226.28e6]


def test_pairs_below_headings(results: Read) -> None:
    rate = "bandwidth_bytes_per_s"
    name = "node.lmbench_bandwidth_by_size"
    sockets = of(results, name, rate, operation="Socket bandwidth using localhost")
    assert sockets == [2.07e6, 46.32e6, 252.96e6]
    # 1.05 MB are 2^20 bytes, the only power of two that is printed so.
    copied = of(results, name, rate, operation="libc bcopy unaligned", size_bytes=2**20)
    assert copied == [52402.06e6]
    assert of(results, "node.lmbench_time_by_size", "time_s", operation="mmap", size_bytes=1048576) == [21e-6]
    assert of(results, "node.lmbench_parallelism_by_size", "parallelism", size_bytes=1024) == [13.58]
    assert of(results, "storage.lmbench_files", "create_per_s", file_bytes=10240) == [2536]


def test_context_switches_and_loads(results: Read) -> None:
    assert of(results, "node.lmbench_context_switch", "time_s", processes=4, work_bytes=16384) == [17.07e-6]
    loads = results.figures("node.lmbench_memory_load", "access_s")
    assert loads[1].parameters == {"array_bytes": 1024, "stride_bytes": 16, "order": "strided"}
    assert (loads[1].values, loads[1].statistic) == ((1.062e-9,), "minimum")
    assert (loads[3].parameters["order"], loads[3].values) == ("random", (1.479e-9,))


def test_pairs_alone_say_nothing() -> None:
    assert not imports.format_of("lmbench").claims(lines("1.05 60749.01\n"))
