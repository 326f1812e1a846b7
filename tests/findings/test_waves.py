"""Very many short receives: found where they are slow or much, and not where they are neither."""

from __future__ import annotations

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary
from tests.findings.evidence import evident
from tests.findings.faulty_runs import latencies
from tests.findings.test_applications import application, found

LU, BT = "application.npb_lu", "application.npb_bt"


def wave(
    ranks: int, exchange_s: float, benchmark: str = LU, message_bytes: float = 1240, **seconds: float
) -> list[Summary]:
    """Ten thousand messages of a flow that computes for half a second."""
    return application(
        benchmark,
        ranks,
        {"compute": 0.5, "exchange": exchange_s, **seconds},
        waits=1e4,
        exchange_messages=1e4,
        exchange_bytes=1e4 * message_bytes,
    )


def receives(run: Run, *made: list[Summary]) -> list[Finding]:
    return found("many_small_receives", run, [summary for each in made for summary in each])


def test_receives_slower_than_the_ping_pong_are_a_warning_on_the_fewest_processes(healthy_run: Run) -> None:
    # 50 µs each, where a message of 1 KiB takes 10 µs.
    (one,) = receives(healthy_run, latencies(lambda n: 9e-6 + n / 1e9), wave(4, 0.5), wave(8, 0.6))
    assert one.severity == "warning"
    assert one.where["ranks"] == 4
    evident(one, (1240, "B"), (50e-6, "s"), rel=0.05)
    assert "10000" in one.title, "how often it waits"
    assert one.lost == pytest.approx(0.5, rel=0.05)
    assert "eager limit" in one.advice


def test_receives_as_fast_as_the_ping_pong_are_advice_where_they_are_much(healthy_run: Run) -> None:
    (one,) = receives(healthy_run, latencies(lambda n: 49e-6 + n / 1e9), wave(4, 0.5))
    assert one.severity == "advice"
    beside = {each.what for each in one.evidence}
    # Without a ping-pong, nothing is said of it.
    (alone,) = receives(healthy_run, wave(4, 0.5))
    assert {what.partition(" ")[0] for what in beside - {each.what for each in alone.evidence}} == {"latency"}


def test_few_or_long_receives_and_waiting_are_none(healthy_run: Run) -> None:
    assert receives(healthy_run, wave(4, 0.05)) == []
    # A neighbor that computes longer is no message.
    assert receives(healthy_run, wave(4, 0.05, idle=2.0)) == []
    assert receives(healthy_run, wave(4, 0.5, message_bytes=20000)) == []
    assert receives(healthy_run, wave(4, 0.5, benchmark=BT)) == []
    assert receives(healthy_run, application(LU, 1, {"compute": 0.5}, waits=0, exchange_messages=0)) == []
