"""Kinds of findings about what a layer loses: contexts in which each must fire, and must not."""

from __future__ import annotations

from hpcscope.findings.results import Run
from hpcscope.plan.placement import Placement
from tests.findings.faulty_runs import Change, between_hosts, exchanges, latencies, rung_summaries, with_summaries
from tests.findings.kinds.algorithms import retained
from tests.findings.tried import Tried, as_it_is


def switched(n: int) -> float:
    return 1e-6 + n / 8e9 if n <= 4096 else 4e-6 + n / 12e9


def consistent(run: Run) -> Run:
    """Sendrecv is a little faster than the ping-pong, synchronous a little slower; longer is dearer."""
    standard = latencies(lambda n: 1e-6 + n / 8e9, seed=5)
    exchange = exchanges(lambda n: 1.9e-6 + n / 4.5e9, seed=6)
    synchronous = latencies(lambda n: 1.4e-6 + n / 8e9, seed=7, mode="synchronous")
    return with_summaries(run, [*standard, *exchange, *synchronous])


def inconsistent(run: Run) -> Run:
    standard = latencies(lambda n: 1e-6 + n / 8e9, seed=5)
    exchange = exchanges(lambda n: 2.6e-6 + n / 4e9, seed=6)
    return with_summaries(run, [*standard, *exchange])


def local_and_remote(local_s: float, remote_s: float) -> Change:
    """A pair on one host and a pair on two, at every size."""
    remote = [
        s.model_copy(update={"placement": Placement("node")})
        for s in latencies(lambda n: remote_s + n / 8e9, seed=8)
    ]
    return lambda run: with_summaries(run, [*latencies(lambda n: local_s + n / 8e9, seed=5), *remote])


def rungs(*values: float) -> Change:
    return lambda run: with_summaries(run, rung_summaries(*values))


def on_a_link(rate_bits_per_s: float | None, *values: float) -> Change:
    """Rungs of 1 MiB over TCP between two hosts: 1.05 GB/s for 10 µs."""
    return lambda run: with_summaries(between_hosts(run, rate_bits_per_s), rung_summaries(*values))


KINDS = {
    "bandwidth_below_layer": Tried(
        "bandwidth-below-layer",
        [as_it_is, rungs(10e-6, 16e-6), rungs(10e-6, 10e-6, 0.9, 0.5e-4)],
        [rungs(10e-6, 10.5e-6)],
    ),
    "layer_bottleneck": Tried(
        "layer-bottleneck",
        [on_a_link(10e9, 10e-6, 10.3e-6), on_a_link(100e9, 10e-6, 10.5e-6), on_a_link(10e9, 10e-6, 20e-6)],
        [
            as_it_is,
            on_a_link(None, 10e-6, 20e-6),
            on_a_link(10e9 * 1.78, 10e-6, 20e-6),
        ],
    ),
    "library_overhead": Tried(
        "library-overhead",
        [rungs(10e-6, 18e-6), rungs(144e-6, 280e-6)],
        [as_it_is, rungs(10e-6, 14e-6), rungs(10e-6, 9e-6), rungs(0.2e-6, 0.6e-6)],
    ),
    "local_pair_slower": Tried(
        "local-pair-slower",
        [local_and_remote(1.3e-6, 1e-6)],
        [as_it_is, local_and_remote(1e-6, 1e-6), local_and_remote(1e-6, 8e-6)],
    ),
    "operation_below_ping_pong": Tried(
        "operation-below-ping-pong",
        [as_it_is, rungs(10e-6, 10e-6, 0.5), retained(0.2)],
        [rungs(10e-6, 10e-6, 0.9), retained(0.4), retained(0.9)],
    ),
    "protocol_switch": Tried(
        "protocol-switch",
        [as_it_is, lambda c: with_summaries(c, latencies(switched))],
        [lambda c: with_summaries(c, latencies(lambda n: 1e-6 + n / 8e9))],
    ),
    "self_consistency": Tried("self-consistency", [as_it_is, inconsistent], [consistent]),
}
