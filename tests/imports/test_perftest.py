"""perftest 26.04: printed by its own functions from clock readings that were made up, for lack of InfiniBand."""

from __future__ import annotations

import pytest

from tests.imports.reading import data, read
from tests.messages import mentions

NAME = "network.perftest"


def test_bandwidth() -> None:
    found = read("perftest", data("perftest-write-bw.txt"))
    first, *_ = found.figures(NAME, "bandwidth_bytes_per_s")
    assert first.parameters == {
        "test": "RDMA Write BW",
        "connection": "RC",
        "queue_pairs": "1",
        "link": "IB",
        "message_bytes": 2,
    }
    assert (first.values, first.repetitions, first.ranks) == ((17.30 * 2**20,), 1000, 2)
    assert found.values(NAME, "peak_bytes_per_s")[3] == 10387.13 * 2**20
    assert found.values(NAME, "message_rate_per_s") == [9.069116e6, 8.222343e6, 1.160965e6, 0.020745e6]
    assert not found.unread


@pytest.mark.parametrize(("unit", "bytes_"), [("MB", 2**20), ("MiB", 2**20), ("Gb", 125e6)])
def test_units(unit: str, bytes_: float) -> None:
    found = read("perftest", data("perftest-write-bw.txt").replace("MiB/sec", f"{unit}/sec"))
    assert found.values(NAME, "bandwidth_bytes_per_s")[1] == 1003.70 * bytes_


def test_latency() -> None:
    found = read("perftest", data("perftest-write-lat.txt"))
    first, *_, last = found.figures(NAME, "time_s")
    assert (first.values, first.statistic) == ((1.10e-6,), "median")
    assert last.beside == {"minimum": 44.69e-6, "maximum": 53.54e-6, "mean": 49.14e-6, "p99": 53.54e-6}
    assert not found.unread


def test_json_has_its_unit_from_the_message_rate() -> None:
    found = read("perftest", data("perftest.json"))
    assert found.values(NAME, "bandwidth_bytes_per_s") == [17.30 * 2**20, 0.15 * 125e6]
    [latency] = found.figures(NAME, "time_s")
    assert (latency.values, latency.beside["p99"]) == ((1.10e-6,), 1.20e-6)
    assert latency.parameters["test"] == "RDMA Write Latency"
    assert not found.unread
    none = read("perftest", data("perftest.json").replace('"MsgRate": 9.069116', '"MsgRate": 3.000000'))
    assert not none.figures(NAME, "bandwidth_bytes_per_s")
    (difference,) = none.reading.differences
    assert mentions(difference, "perftest: ... unit")


def test_a_line_that_was_cut_is_no_figure() -> None:
    text = data("perftest-write-bw.txt")
    found = read("perftest", text[: text.index("10372.44") + 3])
    assert len(found.values(NAME, "bandwidth_bytes_per_s")) == 3
    assert len(found.unread) == 1
