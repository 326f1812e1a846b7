"""netperf 2.7.1: what it printed over the loopback interface of two cores, exact to the last digit."""

from __future__ import annotations

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import data, read
from tests.messages import mentions

BITS = 1e6 / 8
"""The bytes of a printed 10^6 bits."""


def test_streams_have_their_direction_and_unit() -> None:
    found = read("netperf", data("netperf-2.7-streams.txt"))
    one, reverse, received = found.figures("network.netperf", "bandwidth_bytes_per_s")
    assert one.parameters == {"test": "TCP_STREAM", "message_bytes": 16384, "response_bytes": 0}
    assert (one.values, one.statistic, one.ranks) == ((10132.77 * BITS,), "mean", 2)
    assert reverse.parameters["test"] == "TCP_MAERTS"
    assert reverse.values == (2512.49 * 2**20,), "-f M"
    assert received.parameters == {"test": "UDP_STREAM", "message_bytes": 1472, "response_bytes": 0}
    assert received.values == (682.80 * BITS,)
    (sent,) = found.figures("network.netperf", "sent_bytes_per_s")
    assert (sent.values, sent.parameters) == ((2980.97 * BITS,), received.parameters)
    assert not found.unread


def test_transactions_of_one_size_are_half_round_trips() -> None:
    found = read("netperf", data("netperf-2.7-transactions.txt"))
    tcp, udp, without_delay = found.figures("network.latency", "latency_s")
    assert tcp.parameters == {"protocol": "tcp", "wait": "blocking", "message_bytes": 64, "nodelay": "off"}
    assert tcp.values == pytest.approx([0.5 / 135262.31], rel=1e-12)
    assert udp.parameters == {"protocol": "udp", "wait": "blocking", "message_bytes": 1}
    assert udp.values == pytest.approx([0.5 / 157923.47], rel=1e-12)
    assert without_delay.parameters["nodelay"] == "on"
    assert without_delay.values == pytest.approx([0.5 / 106584.02], rel=1e-12)
    (difference,) = found.reading.differences
    assert mentions(difference, "netperf UDP_RR: ... header")
    assert not found.unread


def test_other_transactions_are_rates() -> None:
    found = read("netperf", data("netperf-2.7-transactions.txt"))
    answer, connection = found.figures("network.netperf", "transactions_per_s")
    assert answer.parameters == {"test": "TCP_RR", "message_bytes": 64, "response_bytes": 1024}
    assert answer.values == (148966.80,)
    assert connection.parameters == {"test": "TCP_CRR", "message_bytes": 1, "response_bytes": 1}
    assert connection.values == (11505.54,)


def test_several_requests_at_a_time_are_no_ping_pong() -> None:
    text = data("netperf-2.7-transactions.txt").replace("first burst 0", "first burst 4")
    found = read("netperf", text)
    assert not found.figures("network.latency", "latency_s")
    tests = [one.parameters["test"] for one in found.figures("network.netperf", "transactions_per_s")]
    assert tests == [f"{name}_RR, first burst 4" for name in ("TCP", "UDP", "TCP")] + [
        "TCP_CRR",
        "TCP_RR, first burst 4",
    ]


def test_selected_columns() -> None:
    found = read("netperf", data("netperf-2.7-columns.txt"))
    omni, udp = found.figures("network.netperf", "bandwidth_bytes_per_s")
    assert omni.parameters == {"test": "OMNI Send", "message_bytes": 16384, "response_bytes": 0}
    assert omni.values == (18643.77 * BITS,)
    assert udp.parameters == {"test": "UDP_STREAM", "message_bytes": 65507, "response_bytes": 0}
    assert udp.values == (4379.84 * BITS,)
    (latency,) = found.figures("network.latency", "latency_s")
    assert latency.parameters == {"protocol": "udp", "wait": "blocking", "message_bytes": 1}
    assert latency.values == pytest.approx([0.5 / 6399.66], rel=1e-12)
    assert not found.unread


def test_selected_values_with_commas() -> None:
    found = read("netperf", data("netperf-2.7-csv.txt"))
    (latency,) = found.figures("network.latency", "latency_s")
    assert latency.values == pytest.approx([0.5 / 54829.24], rel=1e-12)
    (stream,) = found.figures("network.netperf", "bandwidth_bytes_per_s")
    assert stream.parameters == {"test": "TCP_MAERTS", "message_bytes": 16384, "response_bytes": 0}
    assert stream.values == (13409.82 * BITS,)
    assert not found.unread


def test_selected_keys() -> None:
    found = read("netperf", data("netperf-2.7-keys.txt"))
    (stream,) = found.figures("network.netperf", "bandwidth_bytes_per_s")
    assert stream.parameters == {"test": "TCP_STREAM", "message_bytes": 16384, "response_bytes": 0}
    assert stream.values == (24065.79 * BITS,)
    assert found.values("network.latency", "latency_s") == pytest.approx([0.5 / 112219.86], rel=1e-12)
    assert not found.unread


def test_keys_need_no_title() -> None:
    text = data("netperf-2.7-keys-without-title.txt")
    found = read("netperf", text * 2)
    streams = found.figures("network.netperf", "bandwidth_bytes_per_s")
    assert [one.values for one in streams] == [(19742.43 * BITS,)] * 2
    assert {one.parameters["test"] for one in streams} == {"TCP_STREAM"}
    nothing = read("netperf", text.replace("THROUGHPUT_UNITS=10^6bits/s\n", ""))
    assert not nothing.reading.figures
    assert any(mentions(one, "unit ... THROUGHPUT_UNITS") for one in nothing.reading.missing)


def test_a_row_without_a_title_is_of_no_test() -> None:
    table = "".join(data("netperf-2.7-streams.txt").splitlines(keepends=True)[6:7])
    assert not imports.format_of("netperf").claims(lines(table))
    assert not imports.read(imports.format_of("netperf"), lines(table)).figures


def test_an_older_title_and_a_number_that_was_cut() -> None:
    """Version 2.4 has other words, and the last line of a cut file may lack digits."""
    text = data("netperf-2.7-streams.txt").replace("MIGRATED UDP STREAM", "UDP UNIDIRECTIONAL SEND")
    assert (
        read("netperf", text).reading.figures == read("netperf", data("netperf-2.7-streams.txt")).reading.figures
    )
    cut = data("netperf-2.7-keys.txt").removesuffix("\n").partition("\nLOCAL")[0][:-4]
    assert not read("netperf", cut).reading.figures
