"""Start-up costs of TCP are recognized where they are, and healthy connections raise no alarm."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.network import tcp
from hpcscope.plan.placement import Placement
from tests.models.curves import noisy, summary

PLAIN = {"pieces": 1, "connection": "used", "nodelay": "on", "wait": "polling", "message_bytes": 512}
ROUND_TRIP_S = 1e-3
LONG = 1 << 20


def found(
    run: Run, cases: Mapping[tuple[tuple[str, object], ...], float], placement: str = "node"
) -> list[Finding]:
    random = np.random.default_rng(5)
    summaries = [
        summary(
            noisy(random, time_s),
            "network.request",
            "response_s",
            "local",
            ranks=2,
            placement=Placement(placement),
            **{**PLAIN, **dict(change)},  # type: ignore[arg-type]
        )
        for change, time_s in cases.items()
    ]
    return tcp.find(run.replaced(statistics=summaries))


def case(**change: object) -> tuple[tuple[str, object], ...]:
    return tuple(change.items())


HEALTHY = {
    case(): ROUND_TRIP_S,
    case(pieces=2): 1.3 * ROUND_TRIP_S,
    case(nodelay="off"): ROUND_TRIP_S,
    case(pieces=2, nodelay="off"): 1.5 * ROUND_TRIP_S,
    case(message_bytes=LONG): 12e-3,
    case(message_bytes=LONG, connection="fresh"): 12.4e-3,
    case(connection="fresh"): 2 * ROUND_TRIP_S,
}


def test_healthy_connections_raise_no_alarm(healthy_run: Run) -> None:
    assert found(healthy_run, HEALTHY) == []


def test_inside_a_host_only_what_tcp_nodelay_should_prevent_is_told(healthy_run: Run) -> None:
    stalls = HEALTHY | {case(pieces=2, nodelay="off"): 45e-3}
    assert len(found(healthy_run, stalls)) == 1
    assert found(healthy_run, stalls, placement="core") == []
    assert len(found(healthy_run, stalls | {case(pieces=2): 45e-3}, placement="core")) == 1


def test_a_long_round_trip_is_no_delayed_acknowledgement(healthy_run: Run) -> None:
    """On a path of 50 ms Nagle's algorithm alone holds the second piece for 50 ms."""
    far = {case(): 50e-3, case(pieces=2): 50e-3, case(pieces=2, nodelay="off"): 100e-3}
    (finding,) = found(healthy_run, far)
    assert finding.code == "tcp-nagle"
    (finding,) = found(healthy_run, far | {case(pieces=2, nodelay="off"): 140e-3})
    assert finding.code == "tcp-delayed-acknowledgement"


@pytest.mark.parametrize(
    ("change", "time_s", "code", "severity"),
    [
        (case(pieces=2, nodelay="off"), 41e-3, "tcp-delayed-acknowledgement", "advice"),
        (case(pieces=2, nodelay="off"), 2.3e-3, "tcp-nagle", "advice"),
        (case(pieces=2), 45e-3, "tcp-delayed-acknowledgement", "warning"),
        (case(message_bytes=LONG, connection="fresh"), 18e-3, "tcp-slow-start", "information"),
    ],
)
def test_each_cost_has_its_finding(
    change: tuple[tuple[str, object], ...], time_s: float, code: str, severity: str, healthy_run: Run
) -> None:
    (finding,) = found(healthy_run, {**HEALTHY, change: time_s})
    assert (finding.code, finding.severity) == (code, severity)
    if code == "tcp-slow-start":
        trips = re.search(r"slow start costs ([\d.]+) round trips \(a doubling window needs 6\)", finding.title)
        assert trips is not None
        assert float(trips[1]) == pytest.approx(6, rel=0.1)
