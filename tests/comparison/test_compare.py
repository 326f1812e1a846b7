"""A comparison finds what was injected, and nothing in healthy data."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scope.comparison.compare import compare, decide
from scope.comparison.effect import Effect
from scope.comparison.page import render
from scope.engine.analysis import analyze
from scope.errors import UsageError
from tests import golden_run as golden
from tests.comparison.runs import drawn, summary, write


def runs(tmp_path: Path, a: object, b: object) -> tuple[Path, Path]:
    sides = [[summary(number, medians) for number, medians in enumerate(each)] for each in (a, b)]
    return write(tmp_path / "a", sides[0]), write(tmp_path / "b", sides[1])


def test_the_same_run_twice_differs_nowhere(golden_run):
    comparison = compare(golden_run, golden_run)
    assert comparison.counts["no difference"] > 200
    assert {case.verdict for case in comparison.cases} == {"no difference", "incomparable"}
    reasons = [case.reason for case in comparison.cases if case.verdict == "incomparable"]
    assert all(reason.startswith(("no result", "no value above zero")) for reason in reasons)


def test_healthy_runs_raise_almost_no_false_alarm(tmp_path):
    """40 comparisons of 40 cases drawn twice from one truth, launches differing by 1 %."""
    random = np.random.default_rng(11)
    alarmed = alarms = 0
    for number in range(40):
        a, b = (drawn(random, 40, 6, 0.01, {}) for _ in range(2))
        counts = compare(*runs(tmp_path / str(number), a, b)).counts
        alarms += counts["better"] + counts["worse"]
        alarmed += counts["better"] + counts["worse"] > 0
    # At most 5 % of comparisons should hold a false alarm; 6 of 40 is four standard errors above that.
    assert alarmed <= 6
    assert alarms <= 0.005 * 40 * 40


def test_a_step_of_five_percent_in_one_case_of_fifty_is_found_and_nothing_else(tmp_path):
    random = np.random.default_rng(12)
    a, b = drawn(random, 50, 6, 0.005, {}), drawn(random, 50, 6, 0.005, {17: 0.05})
    comparison = compare(*runs(tmp_path, a, b))
    changed = [case for case in comparison.cases if case.verdict in ("worse", "better")]
    assert [(case.verdict, case.parameters["message_bytes"]) for case in changed] == [("worse", 17)]
    assert changed[0] is comparison.cases[0]
    assert changed[0].ratio == pytest.approx(1.05, abs=0.01)
    assert changed[0].ratio_low < 1.05 < changed[0].ratio_high
    assert changed[0].smallest_p == pytest.approx(2 / 924)


def test_an_improvement_is_better_and_a_change_of_everything_is_found(tmp_path):
    random = np.random.default_rng(13)
    a, b = drawn(random, 30, 6, 0.01, {}), drawn(random, 30, 6, 0.01, dict.fromkeys(range(30), -0.1))
    assert compare(*runs(tmp_path, a, b)).counts["better"] == 30


def test_a_higher_rate_is_better(tmp_path):
    random = np.random.default_rng(14)
    rate = {"metric": "bandwidth_bytes_per_s", "unit": "B/s", "better": "higher"}
    a = write(tmp_path / "a", [summary(1, drawn(random, 1, 6, 0.005, {})[0], **rate)])
    b = write(tmp_path / "b", [summary(1, drawn(random, 1, 6, 0.005, {0: 0.2})[0], **rate)])
    assert compare(a, b).cases[0].verdict == "better"
    worse = compare(b, a)
    assert worse.cases[0].verdict == "worse"
    assert worse.regressions(0.1) == worse.cases
    assert worse.regressions(0.3) == []


def test_noise_as_large_as_the_change_leaves_the_question_open(tmp_path):
    random = np.random.default_rng(15)
    comparison = compare(*runs(tmp_path, drawn(random, 20, 6, 0.2, {}), drawn(random, 20, 6, 0.2, {})))
    assert comparison.counts["inconclusive"] >= 15
    assert comparison.counts["worse"] + comparison.counts["better"] == 0


@pytest.mark.parametrize(
    ("ratio", "low", "high", "q", "verdict"),
    [
        (1.05, 1.04, 1.06, 0.01, "worse"),
        (0.9, 0.88, 0.92, 0.01, "better"),
        (1.01, 1.005, 1.015, 0.001, "no difference"),
        (1.0, 0.99, 1.01, 0.8, "no difference"),
        (1.0, 0.9, 1.1, 0.8, "inconclusive"),
        (1.03, 0.995, 1.045, 0.2, "inconclusive"),
        (1.05, 0.99, 1.12, 0.01, "inconclusive"),
    ],
)
def test_the_verdict_follows_from_effect_interval_and_test(ratio, low, high, q, verdict):
    assert decide("lower", Effect(ratio, low, high), q, threshold=0.02, level=0.05)[0] == verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"valid": False, "reason": "rank 3 never arrived"}, "no result in B: rank 3 never arrived"),
        ({"origin": "simulated"}, "origin differs: measured in A, simulated in B"),
        ({"unit": "ticks"}, "unit differs: s in A, ticks in B"),
        ({"definition": "global"}, "definition differs: half_round_trip in A, global in B"),
        ({"median": None}, "no value above zero in B"),
        ({"parameters": {"message_bytes": 2}}, "not in B"),
    ],
)
def test_what_cannot_be_compared_says_why(tmp_path, change, reason):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    a = write(tmp_path / "a", [summary(1, medians)])
    b = write(tmp_path / "b", [summary(1, medians, **change)])
    reasons = {case.reason for case in compare(a, b).cases if case.verdict == "incomparable"}
    assert reason in reasons


def test_two_machines_are_incomparable_unless_asked(tmp_path):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    other = golden.machine()
    other["hosts"][0]["processor"]["model"] = "Other Processor"
    a = write(tmp_path / "a", [summary(1, medians)])
    b = write(tmp_path / "b", [summary(1, [2 * one for one in medians])], other)
    comparison = compare(a, b)
    assert [case.verdict for case in comparison.cases] == ["incomparable"]
    assert "processors" in comparison.cases[0].reason
    asked = compare(a, b, across_machines=True)
    assert [case.verdict for case in asked.cases] == ["worse"]
    assert "processors" in {factor.name for factor in asked.factors}


def test_another_mpi_is_a_factor_and_no_refusal(tmp_path):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    other = golden.machine()
    other["build"]["mpi"]["version"] = "6.0.0"
    a = write(tmp_path / "a", [summary(1, medians)])
    b = write(tmp_path / "b", [summary(1, medians)], other)
    comparison = compare(a, b)
    assert [(factor.name, factor.a, factor.b) for factor in comparison.factors] == [
        ("MPI", "openmpi 5.0.11", "openmpi 6.0.0")
    ]
    assert comparison.cases[0].verdict == "no difference"


@pytest.mark.parametrize(("share", "verdict"), [(1.005, "no difference"), (0.5, "incomparable")])
def test_a_little_more_memory_is_the_same_machine(tmp_path, share, verdict):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    other = golden.machine()
    other["hosts"][0]["memory_bytes"] = int(share * other["hosts"][0]["memory_bytes"])
    a = write(tmp_path / "a", [summary(1, medians)])
    b = write(tmp_path / "b", [summary(1, medians)], other)
    assert [case.verdict for case in compare(a, b).cases] == [verdict]


def changed(raw: Path, target: Path, slower: dict[str, float], launches: int = 6, seed: int | None = None) -> Path:
    """A golden run with so many launches of each kind left, in which some benchmarks take longer by a factor."""
    run = golden.write(target, seed) if seed is not None else Path(shutil.copytree(raw, target))
    seen: Counter[tuple[int, str]] = Counter()
    kept: set[int] = set()
    lines = []
    for line in (run / "samples.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["record"] == "launch":
            seen[record["ranks"], record["transport"]] += 1
            if seen[record["ranks"], record["transport"]] <= launches:
                kept.add(record["launch"])
        if record["launch"] not in kept:
            continue
        factor = slower.get(record.get("benchmark", ""), 1.0)
        for series in record.get("series", []) if factor != 1.0 else []:
            series["elapsed_s"] = [[factor * value for value in row] for row in series["elapsed_s"]]
        lines.append(json.dumps(record))
    (run / "samples.jsonl").write_text("\n".join(lines) + "\n")
    analyze(run)
    return run


def test_from_samples_to_verdict_a_slower_benchmark_is_found_and_no_other(golden_raw, golden_run, tmp_path):
    """Two independent draws of the golden run, the second with barriers that take 5 % longer."""
    b = changed(golden_raw, tmp_path / "b", {"mpi.barrier": 1.05}, seed=77)
    comparison = compare(golden_run, b)
    judged = {case.verdict: [one.benchmark for one in comparison.cases if one.verdict == case.verdict]
              for case in comparison.cases}  # fmt: skip
    assert judged["worse"] == ["mpi.barrier"] * len(golden.BARRIER_RANKS)
    assert "better" not in judged


def test_single_launches_are_compared_by_their_samples_and_say_so(golden_raw, tmp_path):
    a = changed(golden_raw, tmp_path / "a", {}, launches=1)
    b = changed(golden_raw, tmp_path / "b", {"mpi.latency": 1.25}, launches=1)
    worse = [case for case in compare(a, b).cases if case.verdict == "worse"]
    assert {case.benchmark for case in worse} == {"mpi.latency"}
    assert len(worse) >= 40
    assert {(case.basis, case.test) for case in worse} == {("samples", "rank sum of samples")}
    assert all("1 launch cannot show" in case.reason for case in worse)


def test_three_launches_give_the_interval_and_their_samples_the_test(golden_raw, tmp_path):
    a = changed(golden_raw, tmp_path / "a", {}, launches=3)
    b = changed(golden_raw, tmp_path / "b", {"mpi.latency": 1.25, "network.latency": 0.8}, launches=3, seed=78)
    comparison = compare(a, b)
    worse = {case.benchmark for case in comparison.cases if case.verdict == "worse"}
    better = {case.benchmark for case in comparison.cases if case.verdict == "better"}
    assert (worse, better) == ({"mpi.latency"}, {"network.latency"})
    tested = [case for case in comparison.cases if case.test]
    assert {(case.basis, case.test) for case in tested} == {("launches", "rank sum of samples")}


def test_the_page_escapes_what_comes_from_data(tmp_path):
    evil = "<script>alert(1)</script>"
    other = golden.machine()
    other["hosts"][0]["name"] = evil
    a = write(tmp_path / "a", [summary(1, [1e-6] * 6, reason=evil, valid=False)])
    b = write(tmp_path / "b", [summary(1, [1e-6] * 6)], other)
    text = render(compare(a, b))
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 2


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: shutil.rmtree(run), ["missing"]),
        (lambda run: (run / "machine.json").unlink(), ["machine.json", "does not exist"]),
        (lambda run: (run / "statistics.json").write_text('{"format": 99}'), ["statistics.json", "format", "99"]),
        (lambda run: (run / "statistics.json").write_text("{"), ["statistics.json", "not JSON"]),
    ],
)
def test_a_run_that_cannot_be_read_is_named_in_one_line(tmp_path, damage, words):
    a = write(tmp_path / "a", [summary(1, [1e-6] * 6)])
    b = write(tmp_path / "b", [summary(1, [1e-6] * 6)])
    damage(b)
    with pytest.raises(UsageError) as caught:
        compare(a, b)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
