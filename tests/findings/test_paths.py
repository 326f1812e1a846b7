"""What is wrong with a path between two hosts, from synthetic figures: each fault alone, and healthy paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.network import asymmetric_rates, lossy_path, mtu_black_hole, path_stops, unfair_streams
from hpcscope.plan.placement import Placement
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.curves import summary

HEALTHY = {
    "network.largest_packet": {
        "delivered_share": 1.0, "mtu_bytes": 1500.0, "told": 0.0, "largest_out_bytes": 1500.0,
        "largest_in_bytes": 1500.0,
    },
    "network.directions": {
        "symmetry": 0.98, "duplex": 0.98, "processor_share": 0.3, "out_bytes_per_s": 12e6, "in_bytes_per_s": 12e6,
        "both_bytes_per_s": 23e6,
    },
    "network.pauses": {"stopped_share": 0.001, "longest_stop_s": 2e-4, "stops_per_s": 0.5, "lost_share": 0.0},
    "network.congestion": {
        "retransmitted_share": 0.002, "fairness": 0.97, "bandwidth_bytes_per_s": 12e6, "isolated_s": 5e-5,
    },
}  # fmt: skip
EXACT = {"delivered_share", "mtu_bytes", "told", "largest_out_bytes", "largest_in_bytes"}
UNITS = {"longest_stop_s": "s", "isolated_s": "s"}
KINDS = (mtu_black_hole, asymmetric_rates, path_stops, lossy_path, unfair_streams)


def path(seed: int = 1, spread: float = 0.03, launches: int = 6, **changed: float) -> list[Summary]:
    """Summaries of all cases of a path; launches scatter by `spread`, repetitions by twice as much."""
    random = np.random.default_rng(seed)
    made = []
    for benchmark, figures in HEALTHY.items():
        defaults: dict[str, Any] = catalog().defaults(benchmark)
        for metric, healthy in figures.items():
            truth = changed.get(metric, healthy)
            width = 0.0 if metric in EXACT else spread
            levels = np.exp(random.normal(0, width, launches))
            times = [truth * level * np.exp(random.normal(0, 2 * width, 9)) for level in levels]
            if metric in ("symmetry", "duplex", "fairness"):
                times = [np.minimum(1.0, one) for one in times]
            made.append(
                summary(
                    times, benchmark, metric, "observed", unit=UNITS.get(metric, ""),
                    placement=Placement("node"), **defaults,
                )
            )  # fmt: skip
    return made


def found(run: Run, summaries: list[Summary]) -> list[Finding]:
    made = run.replaced(statistics=summaries)
    return [one for kind in KINDS for one in kind.find(made)]


FAULTS: dict[str, tuple[dict[str, float], tuple[float, ...]]] = {
    "mtu-black-hole": ({"delivered_share": 0.8, "largest_out_bytes": 1200.0}, (1200.0, 1500.0)),
    "half-duplex": ({"duplex": 0.5, "both_bytes_per_s": 12e6}, (12e6, 0.5)),
    "asymmetric-rates": ({"symmetry": 0.2, "out_bytes_per_s": 2.4e6}, (2.4e6, 12e6, 0.2)),
    "path-stops": ({"stopped_share": 0.2, "longest_stop_s": 0.02, "stops_per_s": 10.0}, (0.2, 0.02, 10.0)),
    "lost-under-load": ({"retransmitted_share": 0.08}, (0.08,)),
    "lossy-path": ({"retransmitted_share": 0.05, "lost_share": 0.04}, (0.04,)),
    "unfair-streams": ({"fairness": 0.6}, (0.6,)),
}
"""What is changed on a path, and figures that the finding must show."""


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_told_alone(code: str, healthy_run: Run) -> None:
    changed, figures = FAULTS[code]
    (finding,) = found(healthy_run, path(1, 0.03, 6, **changed))
    assert finding.code == code
    assert "  " not in finding.title
    shown = [each.value for each in finding.evidence if isinstance(each.value, float)]
    assert all(any(value == pytest.approx(one, rel=0.05) for one in shown) for value in figures), shown
    assert finding.advice.endswith(".")
    assert finding.where["layer"] == "network"


def test_healthy_paths_are_not_accused(healthy_run: Run) -> None:
    """However much the launches scatter, and beside a narrow path that says so."""
    for seed in range(40):
        assert found(healthy_run, path(seed, spread=(0.01, 0.03, 0.1)[seed % 3])) == []
    assert found(healthy_run, path(delivered_share=0.8, largest_out_bytes=1200.0, told=1.0)) == []


def test_what_processors_or_chance_explain_is_not_told(healthy_run: Run) -> None:
    assert found(healthy_run, path(duplex=0.5, processor_share=0.95)) == [], "the processor is what they share"
    assert found(healthy_run, path(duplex=0.5, processor_share=0.0)) == [], "the kernel says nothing of it"
    two = path(launches=2, duplex=0.5, symmetry=0.2, stopped_share=0.2, retransmitted_share=0.1)
    assert found(healthy_run, two) == [], "two launches are no certainty"
