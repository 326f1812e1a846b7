"""The Livermore loops together: harmonic mean, slowest and fastest loop and their ratio, from known rates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcscope.engine.imports import imported
from hpcscope.exchange import exports
from hpcscope.findings.results import Run
from hpcscope.models.computation.loop_rates import BENCHMARK, LoopRates, loop_rates
from hpcscope.report.run import page
from hpcscope.report.run.notes import loop_note, spread_words
from hpcscope.statistics.summary import Summary
from tests.cli.scope_command import answered
from tests.comparison.runs import write
from tests.declared import catalog
from tests.messages import mentions
from tests.models.curves import summary

RATES = {1: 4e9, 5: 1e9, 7: 2e9}
"""Harmonic mean 3 / (1/4 + 1 + 1/2) = 12/7 Gflop/s; ratio 4."""
LAUNCHES = [1, 2, 3, 4, 5, 6]
SPEEDS = [1.0, 0.5, 0.9, 1.1, 1.0, 1.3]
"""Of the machine in each launch, common to all loops."""


def loops(span: str = "long", launches: int = 6) -> list[Summary]:
    return [
        summary(
            [np.full(3, rate * speed) for speed in SPEEDS[:launches]],
            BENCHMARK,
            "flops_per_s",
            "max_rank",
            ranks=1,
            unit="flop/s",
            numbers=LAUNCHES[:launches],
            kernel=kernel,
            span=span,
        )
        for kernel, rate in RATES.items()
    ]


def only(cases: list[Summary]) -> LoopRates:
    (spread,) = loop_rates(cases, catalog())
    return spread


def test_the_harmonic_mean_weights_equal_operations() -> None:
    spread = only(loops())
    assert spread.loops == 3
    assert spread.harmonic_mean.value == pytest.approx(12e9 / 7)
    assert spread.harmonic_mean.low == pytest.approx(0.5 * 12e9 / 7)
    assert spread.harmonic_mean.high == pytest.approx(1.3 * 12e9 / 7)


def test_slowest_and_fastest_are_named_and_a_common_speed_cancels_in_their_ratio() -> None:
    spread = only(loops())
    assert (spread.slowest, spread.fastest) == (5, 1)
    assert (spread.slowest_rate.value, spread.fastest_rate.value) == (1e9, 4e9)
    assert spread.ratio.paired_launches == 6
    assert spread.ratio.bounds == pytest.approx((4.0, 4.0, 4.0))


def test_lengths_are_apart_and_a_single_loop_has_no_spread() -> None:
    assert [spread.subject.parameters for spread in loop_rates(loops() + loops("short"), catalog())] == [
        {"span": "long"},
        {"span": "short"},
    ]
    assert loop_rates(loops()[:1], catalog()) == []


def test_a_loop_without_a_result_does_not_count() -> None:
    first, *others = loops()
    wrong = first.model_copy(update={"valid": False, "reason": "failed: checksum"})
    spread = only([wrong, *others])
    assert (spread.loops, spread.fastest) == (2, 7)


def test_few_launches_and_launches_apart_have_no_interval() -> None:
    few = only(loops(launches=5)).harmonic_mean
    assert (few.low, few.high) == (None, None)
    apart = [case.model_copy(update={"launch_numbers": []}) for case in loops()]
    assert only(apart).harmonic_mean.value == pytest.approx(12e9 / 7)
    assert only(apart).harmonic_mean.low is None


def test_show_prints_the_summary_of_the_chosen_loops(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", loops())
    written = loop_note(only(loops()))
    assert mentions(written, "harmonic mean 1.71 Gflop/s ... 3 loops ... loop 5 ... loop 1 ... ratio 4.00")
    assert written in " ".join(answered(tmp_path, "show", str(folder), BENCHMARK).output.split())
    assert "harmonic" not in answered(tmp_path, "show", str(folder), BENCHMARK, "kernel=1").output


def test_the_report_and_the_data_sheet_print_the_summary(tmp_path: Path) -> None:
    exported = tmp_path / "loops.jsonl"
    exported.write_text(exports.writer("jsonl")([Run(write(tmp_path / "run", loops()))]))
    run = Run(imported(None, [exported], None, tmp_path / "again"))
    (spread,) = run.models.loops
    assert spread.harmonic_mean.value == pytest.approx(12e9 / 7)
    assert loop_note(spread) in page.render(run)
    (line,) = [line for line in exports.writer("data-sheet")([run]).splitlines() if "Livermore" in line]
    assert line.endswith(spread_words(spread))
