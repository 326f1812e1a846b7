"""What TCP costs at the start of a transfer: Nagle's algorithm, delayed acknowledgements, slow start."""

from collections.abc import Iterator
from math import ceil, log2

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import certainly_longer, how_compared, same_place
from hpcscope.models.ladder.limits import TCP_IP_TIMESTAMPS
from hpcscope.models.ladder.paths import link_between
from hpcscope.statistics.summary import Summary

REQUEST = "network.request"
DELAYED_S = 10e-3
"""A timer causes waits this much longer than a round trip: receivers delay acknowledgements by 40 to 200 ms."""
FIRST_WINDOW = 10
"""Segments that a connection may send before the first acknowledgement (RFC 6928)."""
SMALLEST_EXCESS = 0.25
ROUND_TRIPS = 0.5
"""Least wait in round trips: of a request that an acknowledgement holds up, or of slow start."""


def find(run: Run) -> list[Finding]:
    """Find requests in pieces that stall, and long requests over new connections that start slowly."""
    cases = [case for case in run.headlines if case.benchmark == REQUEST and case.median]
    return [*_stalls(run, cases), *_slow_starts(run, cases)]


def _stalls(run: Run, cases: list[Summary]) -> Iterator[Finding]:
    found: dict[object, list[tuple[float, bool, Summary, Summary]]] = {"on": [], "off": []}
    for pieces in cases:
        if pieces.parameters.get("pieces") == 1:
            continue
        nodelay = pieces.parameters.get("nodelay")
        launches = [launch for launch in run.raw_samples.launches if launch.batch == pieces.batch]
        if nodelay == "off" and len({process.host for launch in launches for process in launch.processes}) == 1:
            continue  # every Linux does this on its loopback interface, which says nothing about the cluster
        # A second send costs time, too: sends without TCP_NODELAY are compared with the same sends with it.
        change: dict[str, Value] = {"pieces": 1} if nodelay == "on" else {"nodelay": "on"}
        plain = _differing(pieces, cases, change)
        trip_s = _round_trip_s(pieces, cases)
        if plain is None or trip_s is None or not certainly_longer(pieces, plain, SMALLEST_EXCESS):
            continue
        waits_s = (pieces.median or 0.0) - (plain.median or 0.0)
        delayed = waits_s - trip_s >= DELAYED_S
        if delayed or (nodelay == "off" and waits_s > ROUND_TRIPS * trip_s):
            found[nodelay].append((waits_s, delayed, pieces, plain))
    for setting, of_these in found.items():
        if of_these:
            yield _stalled(run, setting == "off", *max(of_these, key=lambda each: each[0]))


def _stalled(run: Run, by_nagle: bool, waits_s: float, delayed: bool, pieces: Summary, plain: Summary) -> Finding:
    what = "a delayed acknowledgement" if delayed else "an acknowledgement (Nagle's algorithm)"
    without, than = (" without TCP_NODELAY", "with TCP_NODELAY") if by_nagle else ("", "in one piece")
    return Finding(
        code="tcp-delayed-acknowledgement" if delayed else "tcp-nagle",
        severity="advice" if by_nagle else "warning",
        title=f"A request in {pieces.parameters['pieces']} pieces{without} waits for {what}: "
        f"it takes {units.quantity(waits_s, 's')} longer than {than}",
        where={"layer": "network", "benchmark": REQUEST, "transport": pieces.transport},
        evidence=[*run.evidence(plain, pieces), how_compared(pieces, plain)],
        advice=(
            "Write a request with one call (`writev`, a buffer), or set TCP_NODELAY on the socket, as MPI does."
            if by_nagle
            else "TCP_NODELAY is set, so something between the hosts delays small packets: compare `tc qdisc` "
            "and the interrupt coalescing of both links."
        ),
        lost=waits_s / (pieces.median or 1.0),
    )


def _slow_starts(run: Run, cases: list[Summary]) -> Iterator[Finding]:
    found = []
    for fresh in cases:
        if fresh.parameters.get("connection") != "fresh":
            continue
        used = _differing(fresh, cases, {"connection": "used"})
        trip_s = _round_trip_s(fresh, cases)
        expected = _rounds(run, fresh)
        if used is None or trip_s is None or not expected:
            continue
        waits_s = (fresh.median or 0.0) - (used.median or 0.0)
        if certainly_longer(fresh, used, SMALLEST_EXCESS) and waits_s > ROUND_TRIPS * trip_s:
            found.append((waits_s, trip_s, expected, fresh, used))
    if found:
        waits_s, trip_s, expected, fresh, used = max(found, key=lambda each: each[0])
        yield Finding(
            code="tcp-slow-start",
            severity="information",
            title=f"{fresh.label} takes {units.quantity(waits_s, 's')} longer than over a used connection: slow "
            f"start costs {units.digits(waits_s / trip_s)} round trips (a doubling window needs {expected})",
            where={"layer": "network", "benchmark": REQUEST, "transport": fresh.transport},
            evidence=[
                *run.evidence(used, fresh),
                Evidence(what="round trip of a short request", value=trip_s, unit="s"),
                how_compared(fresh, used),
            ],
            advice=(
                "Keep connections open and reuse them, as MPI libraries do after the first message; a larger "
                "first window (`ip route ... initcwnd`) shortens slow start."
            ),
            lost=waits_s / (fresh.median or 1.0),
        )


def _rounds(run: Run, case: Summary) -> int:
    """Return how many extra round trips a doubling window takes; 0 if the first window holds the request."""
    link = link_between(run.machine)
    segment = (link.mtu_bytes if link else 1500) - TCP_IP_TIMESTAMPS.header_bytes
    windows = int(case.parameters["message_bytes"]) / (FIRST_WINDOW * segment)
    return ceil(log2(windows + 1)) - 1 if windows > 1 else 0


def _differing(case: Summary, cases: list[Summary], change: dict[str, Value]) -> Summary | None:
    """Return the case that differs from the given one only in these parameters."""
    wanted = {**case.parameters, **change}
    return next((other for other in cases if other.parameters == wanted and same_place(other, case)), None)


def _round_trip_s(case: Summary, cases: list[Summary]) -> float | None:
    """Return the time of the shortest request in one piece on the same path over a used connection."""
    plain = [
        other.median or 0.0
        for other in cases
        if same_place(other, case)
        and other.parameters.get("pieces") == 1
        and other.parameters.get("connection") == "used"
    ]
    return min(plain, default=None)
