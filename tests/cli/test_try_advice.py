"""`scope run --try-advice`: what a finding advises is set in launches of its own; what it brings is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.comparison.paired import PairedCase, PairedComparison
from hpcscope.comparison.paired_table import tried
from hpcscope.engine.compare import advice
from hpcscope.engine.compare.advice import TriedAdvice, try_advice
from hpcscope.findings.finding import Evidence, Finding, Findings, Trial
from hpcscope.findings.results import Run
from hpcscope.findings.settings import MCA
from hpcscope.rundirectory import FORMAT, note_checksums, write_json
from tests.cli.scope_command import BRIEF, answered, samples
from tests.messages import mentions

CASE = "mpi.latency message_bytes=1Ki"
LIMIT = "btl_sm_eager_limit"


def finding(*trials: Trial) -> Finding:
    return Finding(
        code="protocol-switch",
        severity="advice",
        title="The time jumps",
        where={},
        evidence=[Evidence(what="jump", value=1.0)],
        advice="Try it.",
        trials=list(trials),
    )


def compared(*verdicts: tuple[str, float]) -> PairedComparison:
    cases = [
        PairedCase.model_validate(
            {
                **{"a": "x", "b": "x", "metric": "latency_s", "metric_label": "latency", "unit": "s"},
                **{"better": "lower", "definition": "half_round_trip", "verdict": verdict, "reason": ""},
                **{"a_median": 1e-6, "b_median": 1e-6 * ratio, "ratio": ratio, "p": 0.001, "detectable": None},
                **{"ratio_low": ratio - 0.02, "ratio_high": ratio + 0.02, "rounds": {0: ratio}},
            }
        )
        for verdict, ratio in verdicts
    ]
    return PairedComparison(
        **{"format": FORMAT, "a": "a", "b": "b", "level": 0.05, "confidence": 0.99, "threshold": 0.02},
        **{"factors": [], "rounds": 12, "elapsed_s": 1.0, "out_of_time": False, "cases": cases},
    )


@pytest.mark.parametrize(
    ("verdicts", "gained"),
    [
        ([("better", 0.8)], True),
        ([("better", 0.8), ("no difference", 1.0)], True),
        ([("better", 0.8), ("worse", 1.3)], False),
        ([("inconclusive", 0.9)], False),
        ([], False),
    ],
)
def test_only_a_gain_without_a_loss_is_one(verdicts: list[tuple[str, float]], gained: bool) -> None:
    one = TriedAdvice(finding(), "`A=1`", compared(*verdicts))
    assert one.gained == gained
    lines = [line.plain for line in tried(one.finding, one.change, one.comparison, one.gained)]
    assert ("nothing gained" in lines[0]) == (not gained)
    assert len(lines) == 2 + len(verdicts)
    if verdicts:
        assert mentions(lines[2], f"{verdicts[0][0]} ... {100 * (verdicts[0][1] - 1):+.1f} % [")


@pytest.mark.mpi
def test_of_several_changes_the_best_is_measured_and_only_its_launches_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answered(tmp_path, "run", "--case", CASE, "--launches", "1", "-o", "run", *BRIEF)
    assert answer.code == 0, answer.errors
    run = tmp_path / "run"
    case = Run(run).raw_samples.cases[0].case.request
    changes = [{f"{MCA}{LIMIT}": "8192"}, {f"{MCA}{LIMIT}": "16384"}]
    advised = finding(*(Trial(environment=change, case=case) for change in changes))
    elsewhere = finding(Trial(environment=changes[0], case=case.replace("1Ki", "2Ki")))
    again = advised.model_copy(update={"title": "The time jumps again"})
    write_json(run / "findings.json", Findings(format=FORMAT, findings=[elsewhere, finding(), advised, again]))
    note_checksums(run, [run / "findings.json"])
    costs = iter((1.5, 0.5))
    monkeypatch.setattr(advice, "_cost", lambda comparison: next(costs))
    (one,) = try_advice(run, time_s=0.0)
    assert one.change == f"`--mca {LIMIT} 16384`"
    assert one.comparison.rounds == 1
    (folder,) = (run / "advice").iterdir()
    told = {
        name: {record["settings"][LIMIT] for record in samples(folder / name) if record["record"] == "launch"}
        for name in ("round-1/a", "round-1/b", "round-2/b", "decision/a", "decision/b")
    }
    limits = {name: min(limit) for name, limit in told.items()}
    assert all(len(limit) == 1 for limit in told.values())
    assert (limits["round-1/b"], limits["round-2/b"], limits["decision/b"]) == (8192, 16384, 16384)
    assert limits["round-1/a"] == limits["decision/a"] == 4096


def test_it_needs_a_run_of_its_own(tmp_path: Path) -> None:
    refusal = answered(tmp_path, "run", "--try-advice", "--submit").refusal()
    assert mentions(refusal, "--try-advice ... --submit")
