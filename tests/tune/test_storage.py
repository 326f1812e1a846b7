"""`scope tune storage`: predictions against a known truth, judgements, and a real search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from hpcscope.cli import answer
from hpcscope.rundirectory import FORMAT
from hpcscope.statistics.summary import Summary
from hpcscope.tune.storage.candidates import BENCHMARKS, FileAccess, candidates
from hpcscope.tune.storage.prediction import calibration, fitted
from hpcscope.tune.storage.record import StorageSearchSettings, StorageTuning
from hpcscope.tune.storage.search import concluded, first_cases, predicted, trials_in_time
from tests.cli.scope_command import scope
from tests.messages import mentions
from tests.models.curves import noisy, summary

MIB = 1 << 20
ASKED = StorageSearchSettings(
    direction="write",
    storage="",
    file_bytes=16 * MIB,
    ranks=[1, 2, 4, 8],
    files=["shared", "per_process"],
    trials=4,
    launches=6,
)
METHODS = {"posix": 1.0, "independent": 0.9, "collective": 0.6, "collective-unbuffered": 0.5}


def truth(one: FileAccess) -> float:
    """Effects that multiply: 0.2 ms for each transfer, 500 MB/s of a client, 1 GB/s of the servers."""
    transfer = one.transfer_bytes / (2e-4 + one.transfer_bytes / 2e9) / 2e9
    clients = one.ranks / (one.ranks / 1e9 + 1 / 500e6)
    return clients * transfer * METHODS[one.method] * (1.2 if one.file == "per_process" else 1.0)


def measured(which: Sequence[FileAccess], spread: float = 0.01, seed: int = 1) -> dict[FileAccess, Summary]:
    random = np.random.default_rng(seed)
    return {
        one: summary(
            noisy(random, truth(one), spread=spread),
            BENCHMARKS["write"],
            "bandwidth_bytes_per_s",
            "max_rank",
            one.ranks,
            unit="B/s",
            numbers=range(1, 7),
            **one.settings(ASKED.file_bytes),
        )
        for one in which
    }


def test_effects_that_multiply_are_predicted() -> None:
    base = calibration(ASKED.ranks, ASKED.file_bytes, ASKED.files)
    every = list(candidates(ASKED.ranks, ASKED.file_bytes, ASKED.files))
    assert set(base) < set(every)
    assert len(base) <= 11 < len(every)
    predictor = fitted(base[0], {one: truth(one) for one in base})
    errors = [predictor.rate(one) / truth(one) - 1 for one in every]
    assert max(map(abs, errors)) < 1e-6
    # p / (c + p s) with c / s = 1e9 / 500e6 reaches 90 % at 18 processes.
    assert predictor.enough_ranks == pytest.approx(18, rel=1e-6)


def test_the_fastest_way_is_found_and_proven() -> None:
    tuning = predicted(StorageTuning(format=FORMAT, settings=ASKED), measured(first_cases(ASKED)))
    best = max(candidates(ASKED.ranks, ASKED.file_bytes, ASKED.files), key=truth)
    assert tuning.predicted[0].candidate == best
    tuning = concluded(tuning, measured([trial.candidate for trial in tuning.trials], spread=0.002))
    conclusion = tuning.conclusion
    assert conclusion is not None
    assert conclusion.chosen == best
    assert tuning.enough_ranks == pytest.approx(18, rel=0.05)
    assert any("18" in words for words in conclusion.words)
    assert any(trial.error is not None and abs(trial.error) < 0.1 for trial in tuning.trials)


def test_within_the_noise_the_simplest_way_is_chosen() -> None:
    tuning = predicted(StorageTuning(format=FORMAT, settings=ASKED), measured(first_cases(ASKED)))
    alike = [FileAccess(ranks=8, transfer_bytes=size) for size in (4 * MIB, 16 * MIB)]
    (bandwidth,) = measured(alike[:1]).values()
    same = dict.fromkeys(alike, bandwidth)
    trials = [tuning.trials[0].model_copy(update={"candidate": one}) for one in alike]
    conclusion = concluded(tuning.model_copy(update={"trials": trials}), same).conclusion
    assert conclusion is not None
    assert not conclusion.winner
    assert conclusion.chosen == alike[0]
    assert "2 of 2" in conclusion.words[0]


def test_a_short_time_leaves_out_the_last_of_the_best_predictions() -> None:
    first = measured(first_cases(ASKED))
    assert trials_in_time(ASKED, spent_s=1000.0) == ASKED.trials, "without a time there is no limit"
    # So far, a measurement took 10 s.
    spent_s = 10.0 * len(first)
    assert trials_in_time(ASKED.model_copy(update={"time_s": spent_s + 45.0}), spent_s) == 4
    assert trials_in_time(ASKED.model_copy(update={"time_s": spent_s - 1.0}), spent_s) == 0
    short = ASKED.model_copy(update={"time_s": spent_s + 25.0})
    tuning = predicted(StorageTuning(format=FORMAT, settings=short), first)
    fresh = [trial.candidate for trial in tuning.trials if trial.predicted_bytes_per_s is not None]
    kept = fresh[: trials_in_time(short, spent_s)]
    assert len(kept) == 2 < len(fresh)
    conclusion = concluded(tuning, {**first, **measured(kept)}).conclusion
    assert conclusion is not None
    assert any(mentions(words, f"too short ... {len(fresh) - 2} of") for words in conclusion.words)
    whole = concluded(tuning, {**first, **measured(fresh)}).conclusion
    assert whole is not None
    assert not any(mentions(words, "too short") for words in whole.words)


def test_two_numbers_of_processes_say_nothing_of_others() -> None:
    asked = ASKED.model_copy(update={"ranks": [1, 2]})
    cases = first_cases(asked)
    tuning = concluded(predicted(StorageTuning(format=FORMAT, settings=asked), measured(cases)), measured(cases))
    assert tuning.enough_ranks is None
    assert tuning.conclusion is not None
    assert not any("process" in words for words in tuning.conclusion.words[1:])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--direction", "both"], "--direction both: ... write ... read"),
        (["--file", "many"], "--file many: ... shared ... per_process"),
        (["--file-bytes", "1"], "--file-bytes 1: ... 64Ki ... 16Ti"),
        (["--ranks", "2,x"], "--ranks 2,x: "),
        (["--ranks", "0"], "--ranks 0: ... 1"),
        (["--launches", "0"], "--launches 0: ... 1"),
        (["--time", "soon"], "--time soon: "),
    ],
)
def test_nonsense_is_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["tune", "storage", *words]) == 2
    assert mentions(capsys.readouterr().err, says)


def test_what_is_not_tuned_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["tune", "cannon"]) == 2
    assert "'cannon'" in capsys.readouterr().err


@pytest.mark.mpi
@pytest.mark.slow("a third real search; there, LINPACK has one, and this search has written times")
def test_a_real_search(tmp_path: Path) -> None:
    small = ["--file-bytes", "256Ki", "--ranks", "1,2", "--trials", "2", "--launches", "1", "--oversubscribe"]
    ended = scope(tmp_path, "tune", "storage", *small, "--seed", "3", "--mpi", "embedded", "--output", "here")
    assert ended.code == 0, ended.errors
    assert "Chosen: " in ended.output
    record = json.loads((tmp_path / "here" / "tune-storage.json").read_text())
    schema = Path(__file__).parents[2] / "schemas" / "tune-storage.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(record)
    assert all(trial["measured_bytes_per_s"]["value"] > 0 for trial in record["trials"])
    assert record["predicted"][0]["bytes_per_s"] >= record["predicted"][-1]["bytes_per_s"] > 0
    assert "storage.write" in (tmp_path / "here" / "best.toml").read_text()
    assert '"tuning-storage"' in (tmp_path / "here" / "report.html").read_text()
    assert not list(tmp_path.glob("scope-storage-*"))
