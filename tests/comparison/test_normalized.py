"""Modified tests over unmodified ones, of known truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.comparison.normalized import normalized
from hpcscope.errors import UsageError
from hpcscope.statistics.summary import Summary
from tests import golden_run
from tests.cli.scope_command import answered
from tests.comparison.runs import summary, write
from tests.declared import catalog

NOISE = (0.99, 1.0, 1.0, 1.0, 1.0, 1.01)


def latency(seconds: float, **changes: Any) -> Summary:
    transport = changes.pop("transport", "default")
    parameters = {**catalog().defaults("mpi.latency"), "message_bytes": 1024, **changes}
    return summary(0, [seconds * factor for factor in NOISE], parameters=parameters, transport=transport)


def test_a_modified_test_is_held_against_the_unmodified_one_of_its_size(tmp_path: Path) -> None:
    run = write(
        tmp_path / "run",
        [
            latency(1e-6),
            latency(5e-6, message_bytes=2048),
            latency(3e-6, mode="synchronous"),
            latency(9e-6, transport="tcp"),
            latency(10e-6, message_bytes=2048, mode="ready"),
            latency(1.0, message_bytes=4096, mode="ready"),
        ],
    )
    found = normalized(run, run)
    ratios = {case.label: round(case.ratio, 6) for case in found.cases}
    assert sorted(ratios.values()) == [2.0, 3.0, 9.0]
    assert {case.verdict for case in found.cases} == {"worse"}
    assert all(case.ratio_low is not None and case.ratio_low <= case.ratio for case in found.cases)
    (lacking,) = found.without_unmodified
    assert "4 KiB" in lacking


def test_another_build_is_normalised_to_the_baseline_s(tmp_path: Path) -> None:
    machine = golden_run.machine()
    fast = {**machine, "build": {**machine["build"], "flags": "-O3 -march=native -std=c++20"}}
    a = write(tmp_path / "a", [latency(2e-6)])
    b = write(tmp_path / "b", [latency(1e-6), latency(4e-6, mode="ready")], fast)
    found = normalized(a, b)
    assert found.optimized == ["B: -O3 -march=native"]
    assert [(round(case.ratio, 6), case.verdict) for case in found.cases] == [(0.5, "better"), (2.0, "worse")]


def test_noise_has_no_verdict(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [latency(1e-6), latency(1.001e-6, mode="ready")])
    (case,) = normalized(run, run).cases
    assert case.verdict == ""


def test_another_machine_is_refused(tmp_path: Path) -> None:
    machine = golden_run.machine()
    other = {**machine, "hosts": [{**machine["hosts"][0], "memory_bytes": 1 << 30}]}
    a, b = write(tmp_path / "a", [latency(1e-6)]), write(tmp_path / "b", [latency(1e-6)], other)
    with pytest.raises(UsageError, match="memory"):
        normalized(a, b)


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    run = str(write(tmp_path / "run", [latency(1e-6), latency(3e-6, mode="synchronous")]))
    answer = answered(tmp_path, "compare", run, run, "--normalized")
    assert "worse" in answer.output
    assert "3.00 [" in answer.output
    (case,) = json.loads(answered(tmp_path, "compare", run, run, "--normalized", "--json").output)["cases"]
    assert case["ratio"] == pytest.approx(3)
    refused = answered(tmp_path, "compare", run, run, "--normalized", "--efficiency")
    assert refused.code == 2
