"""NetPIPE 3.7.2 and 5: what it printed and wrote on two cores, exact to the last digit."""

from __future__ import annotations

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import data, read
from tests.messages import mentions


def test_version_3_over_mpi() -> None:
    found = read("netpipe", data("netpipe-3.7-mpi.txt"))
    first, *_ = found.figures("mpi.latency", "latency_s")
    assert (first.values, first.statistic, first.ranks) == ((0.10e-6,), "minimum", 2)
    assert first.parameters == {"message_bytes": 1}
    # Its Mbit is 2^20 bits: 75.29 * 2^20 / 8.
    assert found.values("mpi.latency", "bandwidth_bytes_per_s")[0] == 75.29 * 131072
    assert found.reading.hosts == ["vm"]
    (difference,) = found.reading.differences
    assert difference.startswith("NetPIPE 3: ")
    assert not found.unread


def test_version_3_over_tcp() -> None:
    found = read("netpipe", data("netpipe-3.7-tcp.txt"))
    first, *_ = found.figures("network.latency", "latency_s")
    assert first.parameters == {"protocol": "tcp", "wait": "blocking", "nodelay": "on", "message_bytes": 1}
    assert first.values == (19.37e-6,)


def test_both_ways_is_no_ping_pong() -> None:
    found = read("netpipe", data("netpipe-3.7-both-ways.txt"))
    assert {one.benchmark for one in found.reading.figures} == {"network.netpipe"}
    assert found.reading.figures[0].parameters == {"transport": "mpi", "mode": "both_ways", "message_bytes": 1}
    assert not found.unread


def test_the_written_file_of_version_3() -> None:
    found = read("netpipe", data("netpipe-3.7.out"))
    assert found.reading.program == "NetPIPE 3"
    assert found.values("network.netpipe", "time_s")[:2] == [0.10e-6, 0.13e-6]
    assert found.values("network.netpipe", "bandwidth_bytes_per_s")[1] == 121.904762 * 131072
    assert found.reading.figures[0].parameters["transport"] == "unknown"
    assert any(mentions(one, "transport ... mode ... np.out") for one in found.reading.missing)


def test_the_written_file_of_version_5() -> None:
    found = read("netpipe", data("netpipe-5.out"))
    assert found.reading.program == "NetPIPE 5"
    assert found.values("network.netpipe", "time_s")[:2] == [1.06e-6, 0.82e-6]
    assert found.values("network.netpipe", "bandwidth_bytes_per_s")[1] == 0.020e9 / 8


def test_version_5_with_its_colors() -> None:
    found = read("netpipe", data("netpipe-5-mpi.txt"))
    assert found.values("network.netpipe", "time_s")[:2] == [2.225e-6, 0.758133e-6]
    assert [one.parameters["message_bytes"] for one in found.reading.figures[:4:2]] == [900, 1350]
    assert found.values("network.netpipe", "bandwidth_bytes_per_s")[0] == 3.236e9 / 8
    assert any(mentions(one, "NetPIPE 5: ... 1 MB") for one in found.reading.differences)
    assert not found.unread


@pytest.mark.parametrize("text", ["1 2 3\n4 5 6\n", "       1 75.294118   0.00100010\n" * 3, "1.000000 2.5 3\n"])
def test_other_columns_of_numbers_are_not_its(text: str) -> None:
    assert not imports.format_of("netpipe").claims(lines(text))
