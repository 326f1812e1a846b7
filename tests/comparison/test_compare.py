"""A comparison finds what was injected, and nothing in healthy data."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hpcscope.comparison.compare import compare, decide
from hpcscope.comparison.effect import Effect
from hpcscope.engine.analysis import analyze
from hpcscope.errors import UsageError
from hpcscope.report.comparison.page import render
from hpcscope.statistics.summarise import read_summaries
from tests import golden_run as golden
from tests.comparison.runs import drawn, summary, write
from tests.draws import draws
from tests.messages import mentions


def runs(tmp_path: Path, a: object, b: object) -> tuple[Path, Path]:
    sides = [[summary(number, medians) for number, medians in enumerate(each)] for each in (a, b)]
    return write(tmp_path / "a", sides[0]), write(tmp_path / "b", sides[1])


def test_the_same_run_twice_differs_nowhere(golden_run):
    comparison = compare(golden_run, golden_run)
    assert comparison.counts["no difference"] > 200
    assert {case.verdict for case in comparison.cases} == {"no difference", "incomparable"}
    without = {(one.key, one.metric) for one in read_summaries(golden_run) if not one.valid or not one.median}
    assert {(case.key, case.metric) for case in comparison.cases if case.verdict == "incomparable"} <= without


def test_a_version_without_a_parameter_measured_its_default(golden_run, tmp_path):
    """Cases of an earlier version are those of a later one whose new parameters have their defaults."""
    earlier = Path(shutil.copytree(golden_run, tmp_path / "earlier"))
    benchmarks = json.loads((earlier / "benchmarks.json").read_text())
    for each in benchmarks:
        each["parameters"] = [one for one in each["parameters"] if one["name"] != "mode"]
    (earlier / "benchmarks.json").write_text(json.dumps(benchmarks))
    statistics = json.loads((earlier / "statistics.json").read_text())
    lacking = 0
    for one in statistics["summaries"]:
        if one["parameters"].get("mode") == "standard":
            lacking += bool(one["parameters"].pop("mode"))
    (earlier / "statistics.json").write_text(json.dumps(statistics))
    (earlier / "checksums.sha256").unlink()
    found = compare(earlier, golden_run)
    assert lacking > 0
    assert found.counts == compare(golden_run, golden_run).counts


@pytest.mark.simulation
@draws(14, 40)
def test_healthy_runs_raise_almost_no_false_alarm(tmp_path, draws):
    """Comparisons of 40 cases drawn twice from one truth, launches differing by 1 %."""
    random = np.random.default_rng(11)
    alarmed = 0
    for number in range(draws):
        a, b = (drawn(random, 40, 6, 0.01, {}) for _ in range(2))
        counts = compare(*runs(tmp_path / str(number), a, b)).counts
        alarmed += counts["better"] + counts["worse"] > 0
    # 1 % of comparisons may hold a false alarm; 3 of 40 is four standard errors above that.
    assert alarmed <= 3 * draws // 40


@pytest.mark.parametrize("factor", [0.8, 1.03, 1.4])
def test_a_state_that_persists_through_a_run_is_one_statement(tmp_path, factor):
    random = np.random.default_rng(16)
    a, b = drawn(random, 40, 6, 0.01, {}), factor * drawn(random, 40, 6, 0.01, {})
    comparison = compare(*runs(tmp_path, a, b))
    assert comparison.counts["better"] + comparison.counts["worse"] == 0
    assert comparison.counts["common change"] >= 30
    assert comparison.common is not None
    assert comparison.common.ratio == pytest.approx(factor, abs=0.01)
    assert comparison.common.agreeing >= 38


def test_a_case_that_changes_beside_the_others_is_found_and_judged_against_them(tmp_path):
    random = np.random.default_rng(17)
    a, b = drawn(random, 40, 6, 0.005, {}), 1.2 * drawn(random, 40, 6, 0.005, {3: 0.1})
    comparison = compare(*runs(tmp_path, a, b))
    worse = [case for case in comparison.cases if case.verdict in ("worse", "better")]
    assert [case.parameters["message_bytes"] for case in worse] == [3]
    assert worse[0].ratio == pytest.approx(1.32, abs=0.02)


@pytest.mark.simulation
def test_scatter_between_runs_that_launches_do_not_show_raises_no_alarm(tmp_path):
    """Each case of the second run differs by about 3 % from the first, in all of its launches alike."""
    random = np.random.default_rng(18)
    alarmed = 0
    for number in range(20):
        a, b = (drawn(random, 60, 6, 0.003, {}) for _ in range(2))
        b *= np.exp(random.normal(0, 0.03, 60))[:, None]
        comparison = compare(*runs(tmp_path / str(number), a, b))
        assert comparison.spread == pytest.approx(0.03, rel=0.6)
        alarmed += comparison.counts["better"] + comparison.counts["worse"] > 0
    assert alarmed <= 2


def test_where_a_known_factor_differs_the_scatter_of_cases_is_its_effect(tmp_path):
    random = np.random.default_rng(19)
    a, b = (
        drawn(random, 40, 6, 0.005, {}),
        drawn(random, 40, 6, 0.005, dict.fromkeys(range(0, 40, 2), 0.3)),
    )
    other = golden.machine()
    other["build"]["mpi"]["version"] = "6.0.0"
    folder = runs(tmp_path, a, b)
    write(folder[1], [summary(number, medians) for number, medians in enumerate(b)], other)
    comparison = compare(*folder)
    assert comparison.spread == 0
    assert comparison.counts["worse"] == 20


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_fewer_than_four_launches_are_no_verdict(tmp_path, launches):
    random = np.random.default_rng(20)
    a, b = drawn(random, 10, 6, 0.001, {}), drawn(random, 10, launches, 0.001, dict.fromkeys(range(10), 0.5))
    comparison = compare(*runs(tmp_path, a, b))
    assert {case.verdict for case in comparison.cases} == {"inconclusive"}
    assert all(mentions(case.reason, f"4 launches ... {launches}") for case in comparison.cases)
    assert all(case.ratio == pytest.approx(1.5, abs=0.02) and case.ratio_low is None for case in comparison.cases)


def test_what_is_inconclusive_says_which_change_would_have_been_seen(tmp_path):
    """A change of that size is then found in about nine of ten comparisons; of a third of it in few."""
    random = np.random.default_rng(21)
    first = compare(*runs(tmp_path / "first", drawn(random, 20, 6, 0.05, {}), drawn(random, 20, 6, 0.05, {})))
    detectable = np.array([case.detectable for case in first.cases if case.verdict == "inconclusive"])
    assert detectable.size >= 15
    typical = float(np.median(detectable))
    found = dict.fromkeys((1 / 3, 1.0), 0)
    for share in found:
        for number in range(20):
            a, b = drawn(random, 20, 6, 0.05, {}), drawn(random, 20, 6, 0.05, {4: share * typical})
            comparison = compare(*runs(tmp_path / f"{share}-{number}", a, b))
            found[share] += any(one.verdict == "worse" and one.parameters["message_bytes"] == 4
                                for one in comparison.cases)  # fmt: skip
    assert found[1.0] >= 13
    assert found[1 / 3] <= 7


def test_a_step_of_five_percent_in_one_case_of_fifty_is_found_and_nothing_else(tmp_path):
    random = np.random.default_rng(12)
    a, b = drawn(random, 50, 6, 0.005, {}), drawn(random, 50, 6, 0.005, {17: 0.05})
    comparison = compare(*runs(tmp_path, a, b))
    changed = [case for case in comparison.cases if case.verdict in ("worse", "better")]
    assert [(case.verdict, case.parameters["message_bytes"]) for case in changed] == [("worse", 17)]
    assert changed[0] is comparison.cases[0]
    assert changed[0].ratio == pytest.approx(1.05, abs=0.01)
    assert changed[0].ratio_low < 1.05 < changed[0].ratio_high


def test_an_improvement_is_better(tmp_path):
    random = np.random.default_rng(13)
    a, b = drawn(random, 30, 6, 0.01, {}), drawn(random, 30, 6, 0.01, dict.fromkeys(range(6), -0.1))
    assert compare(*runs(tmp_path, a, b)).counts["better"] == 6


def test_a_change_between_runs_of_dependent_launches_says_so(tmp_path):
    random = np.random.default_rng(22)
    a, b = drawn(random, 10, 6, 0.005, {}), drawn(random, 10, 6, 0.005, {2: 0.2})
    left = write(tmp_path / "a", [summary(n, m, launches_dependent=n == 2) for n, m in enumerate(a)])
    right = write(tmp_path / "b", [summary(n, m) for n, m in enumerate(b)])
    (worse,) = compare(left, right).regressions(0.1)
    assert "these minutes" in worse.reason


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
        (1.05, 1.04, 1.06, 0.005, "worse"),
        (0.9, 0.88, 0.92, 0.005, "better"),
        (1.01, 1.005, 1.015, 0.001, "no difference"),
        (1.0, 0.99, 1.01, 0.8, "no difference"),
        (1.0, 0.9, 1.1, 0.8, "inconclusive"),
        (1.03, 0.995, 1.045, 0.2, "inconclusive"),
        (1.05, 0.99, 1.12, 0.005, "inconclusive"),
    ],
)
def test_the_verdict_follows_from_effect_interval_and_test(ratio, low, high, q, verdict):
    assert decide("lower", Effect(ratio, low, high), q, threshold=0.02, level=0.01)[0] == verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"valid": False, "reason": "rank 3 never arrived"}, "B: rank 3 never arrived"),
        ({"origin": "simulated"}, "origin ... measured in A, simulated in B"),
        ({"unit": "ticks"}, "unit ... s in A, ticks in B"),
        ({"definition": "global"}, "definition ... half_round_trip in A, global in B"),
        ({"median": None}, "zero in B"),
        ({"parameters": {"message_bytes": 2}}, "in B"),
    ],
)
def test_what_cannot_be_compared_says_why(tmp_path, change, reason):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    a = write(tmp_path / "a", [summary(1, medians)])
    b = write(tmp_path / "b", [summary(1, medians, **change)])
    reasons = {case.reason for case in compare(a, b).cases if case.verdict == "incomparable"}
    assert any(mentions(each, reason) for each in reasons), reasons


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


def test_optimized_builds_are_labelled_on_both_sides(tmp_path):
    medians = [1e-6 + 1e-8 * number for number in range(6)]
    fast = golden.machine()
    fast["build"]["flags"] = "-O3 -std=c++20"
    a = write(tmp_path / "a", [summary(1, medians)], fast)
    b = write(tmp_path / "b", [summary(1, medians)], fast)
    comparison = compare(a, b)
    assert comparison.factors == []
    assert comparison.optimized == ["A: -O3", "B: -O3"]
    assert "Optimized measurement: B: -O3" in render(comparison)
    assert compare(a, write(tmp_path / "c", [summary(1, medians)])).optimized == ["A: -O3"]


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


@pytest.mark.simulation
def test_from_samples_to_verdict_a_slower_benchmark_is_found_and_no_other(golden_raw, golden_run, tmp_path):
    """Two independent draws of the golden run, the second with barriers that take 5 % longer."""
    b = changed(golden_raw, tmp_path / "b", {"mpi.barrier": 1.05}, seed=77)
    comparison = compare(golden_run, b)
    judged = {case.verdict: [one.benchmark for one in comparison.cases if one.verdict == case.verdict]
              for case in comparison.cases}  # fmt: skip
    assert judged["worse"] == ["mpi.barrier"] * len(golden.BARRIER_RANKS)
    assert "better" not in judged


def test_the_page_escapes_what_comes_from_data(tmp_path):
    evil = "<script>alert(1)</script>"
    other = golden.machine()
    other["hosts"][0]["name"] = evil
    a = write(tmp_path / "a", [summary(1, [1e-6] * 6, reason=evil, valid=False)])
    b = write(tmp_path / "b", [summary(1, [1e-6] * 6)], other)
    text = render(compare(a, b))
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;") == 2


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: shutil.rmtree(run), ["does not exist"]),
        (lambda run: (run / "machine.json").unlink(), ["machine.json"]),
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


def test_an_imported_figure_is_held_against_its_own_definition(tmp_path):
    """Another program's mean over ranks is no global time; Scope has both."""
    case = {"benchmark": "mpi.allreduce", "metric": "time_s"}
    other = summary(8, [3e-6], definition="mean_rank", origin="imported", printed="mean", **case)
    own = [
        summary(8, [9e-6], definition="global", **case),
        summary(8, [2e-6], definition="mean_rank", primary=False, **case),
    ]
    for a, b in (([other], own), (own, [other])):
        folder = tmp_path / f"{len(a)}"
        [found] = compare(write(folder / "a", a), write(folder / "b", b), across_machines=True).cases
        assert (found.definition, found.verdict) == ("mean_rank", "inconclusive")
    alone = compare(write(tmp_path / "c", [other]), write(tmp_path / "d", own[:1]), across_machines=True)
    assert {"mean_rank", "A", "global", "B"} <= set(re.findall(r"\w+", alone.cases[0].reason))
