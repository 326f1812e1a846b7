"""Where an operation's time goes, from times of known truth."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
import pytest

from hpcscope.machine.machine import Machine
from hpcscope.models.prediction.operation_parts import operation_parts
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary
from tests import golden_run as golden
from tests.models.curves import measured, noisy, summary

MACHINE = Machine.model_validate(golden.machine())
RANKS = 4
LATENCY_S, PER_BYTE_S = 1e-6, 1e-10
FIRST_TOUCH, PACKING, REST = 0.5, 0.3, 0.4
"""What the parts add, in shares of the messages' time."""


def message_s(message_bytes: float) -> float:
    return LATENCY_S + PER_BYTE_S * message_bytes


def messages_s(name: str, n: float) -> float:
    if name == "broadcast":
        return ceil(log2(RANKS)) * message_s(n)
    return message_s(n) if name == "shift" else (RANKS - 1) * message_s(n / RANKS)


def ping_pong(random: np.random.Generator) -> list[Summary]:
    return [
        summary(
            noisy(random, message_s(size), spread=0.001),
            "mpi.latency",
            "latency_s",
            "half_round_trip",
            mode="standard",
            completion="blocking",
            message_bytes=size,
        )
        for size in (0, *(4**k for k in range(13)))
    ]


def operation(random: np.random.Generator, name: str, warm: bool = True, rows: bool = True) -> list[Summary]:
    base = messages_s(name, 8 * 480**2)
    striped = name in ("scatter", "gather")
    layouts = (["columns", "rows"] if rows else ["columns"]) if striped else [""]
    found = []
    for layout in layouts:
        for buffers in ["cold", "warm"] if warm else ["cold"]:
            share = 1 + REST + FIRST_TOUCH * (buffers == "cold") + PACKING * (layout == "columns")
            chosen: dict[str, Any] = {"n": 480, "buffers": buffers} | ({"layout": layout} if striped else {})
            times = noisy(random, base * share, spread=0.001)
            found.append(summary(times, f"operation.{name}", "time_s", "global", ranks=RANKS, **chosen))
    return found


def launches(*counts: int) -> list[LaunchRecord]:
    return [LaunchRecord.model_validate(golden.launch_record(1, count, "default", 0.0)) for count in counts]


@pytest.mark.parametrize("name", ["broadcast", "scatter", "gather", "shift"])
def test_the_parts_are_found_again(name: str) -> None:
    random = np.random.default_rng(3)
    summaries = ping_pong(random) + operation(random, name)
    cold = operation_parts(measured(summaries, launches(2, RANKS)))
    base = messages_s(name, 8 * 480**2)
    one = next(part for part in cold if part.subject.parameters.get("layout") != "rows")
    packed = PACKING if name in ("scatter", "gather") else 0.0
    total = 1 + REST + FIRST_TOUCH + packed
    assert one.messages_s.value == pytest.approx(base, rel=0.01)
    assert one.retained.value == pytest.approx(1 / total, rel=0.03)
    assert one.retained.low is not None
    assert one.retained.high is not None
    assert one.retained.low < one.retained.value < one.retained.high
    assert one.first_touch_s == pytest.approx(FIRST_TOUCH * base, rel=0.05)
    assert one.packing_s == (pytest.approx(packed * base, rel=0.05) if packed else None)
    assert one.rest_s == pytest.approx(REST * base, rel=0.1)
    parts = one.messages_s.value + (one.first_touch_s or 0) + (one.packing_s or 0) + one.rest_s
    assert parts == pytest.approx(one.time_s.value)


def test_an_operation_with_a_computation_before_its_end_has_no_parts() -> None:
    random = np.random.default_rng(5)
    called = {"n": 480, "buffers": "cold"}
    times = {"blocking": 1.0, "nonblocking": 1.1, "overlapped": 2.0}
    operations = [
        summary(
            noisy(random, 1e-3 * time), "operation.broadcast", "time_s", "global", ranks=RANKS, call=call, **called
        )
        for call, time in times.items()
    ]
    parts = operation_parts(measured(ping_pong(random) + operations, launches(2, RANKS)))
    assert [part.subject.parameters["call"] for part in parts] == ["blocking"]


def test_parts_that_were_not_measured_are_left_in_the_rest() -> None:
    random = np.random.default_rng(4)
    summaries = ping_pong(random) + operation(random, "scatter", warm=False)
    columns, rows = operation_parts(measured(summaries, launches(RANKS)))
    assert (columns.first_touch_s, columns.packing_s, rows.packing_s) == (None, None, None)
    base = messages_s("scatter", 8 * 480**2)
    assert columns.rest_s == pytest.approx((REST + FIRST_TOUCH + PACKING) * base, rel=0.1)


def test_without_a_ping_pong_on_the_way_nothing_is_said() -> None:
    random = np.random.default_rng(5)
    assert operation_parts(measured(operation(random, "shift"), launches(RANKS))) == []
    elsewhere = [one.model_copy(update={"transport": "tcp"}) for one in ping_pong(random)]
    assert operation_parts(measured(elsewhere + operation(random, "shift"), launches(RANKS))) == []


def test_more_processes_than_processors_are_left_out() -> None:
    random = np.random.default_rng(6)
    summaries = ping_pong(random) + operation(random, "shift")
    one_host = MACHINE.hosts[0]
    few = one_host.processor.model_copy(update={"usable": [0], "quota_processors": None})
    small = MACHINE.model_copy(update={"hosts": [one_host.model_copy(update={"processor": few})]})
    assert operation_parts(measured(summaries, launches(RANKS))) != []
    assert operation_parts(measured(summaries, launches(RANKS), small)) == []
