"""`scope tune blas`: what is advised, and a real search."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hpcscope.build import blas
from hpcscope.cli import answer
from hpcscope.comparison.kernels import KernelTuning, Rival
from hpcscope.comparison.paired import PairedCase, PairedVerdict
from hpcscope.engine.compare import compare
from hpcscope.engine.tune import blas as tune_blas
from hpcscope.machine.machine import Blas
from hpcscope.rundirectory import FORMAT


def case(verdict: PairedVerdict, ratio: float | None, words: str = "DGEMM") -> PairedCase:
    return PairedCase(
        a=words,
        b=words,
        words=words,
        metric="flops_per_s",
        unit="flop/s",
        better="higher",
        definition="max_rank",
        verdict=verdict,
        reason="" if ratio else "needs 12 rounds, has 1",
        a_median=1e9,
        b_median=1e9 * (ratio or 1),
        ratio=ratio,
        ratio_low=ratio and ratio * 0.99,
        ratio_high=ratio and ratio * 1.01,
        rounds={},
        p=None,
        detectable=None,
    )


def tuning(*rivals: Rival, setting: str | None = "Haswell") -> KernelTuning:
    return KernelTuning(
        format=FORMAT,
        library="OpenBLAS 0.3",
        variable=blas.CORETYPE,
        kernels="Haswell",
        setting=setting,
        rivals=list(rivals),
    )


@pytest.mark.parametrize("before", [None, "Haswell"])
@pytest.mark.parametrize("during", [None, "Zen"])
def test_launches_of_a_side_have_its_environment_and_later_ones_that_of_before(
    before: str | None, during: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is None:
        monkeypatch.delenv(blas.CORETYPE, raising=False)
    else:
        monkeypatch.setenv(blas.CORETYPE, before)
    with compare._set({blas.CORETYPE: during}):
        printed = subprocess.run(["printenv", blas.CORETYPE], capture_output=True, text=True).stdout
    assert printed.strip() == (during or "")
    assert os.environ.get(blas.CORETYPE) == before


def test_without_a_result_in_double_precision_nothing_is_advised() -> None:
    single = case("better", 1.5, "node.matrix_multiply precision=single n=1000")
    assert tuning(Rival(kernels="Zen", setting="Zen", cases=[single])).best is None
    assert tuning(Rival(kernels="Zen", setting="Zen", cases=[])).best is None


def test_the_fastest_kernels_are_advised_with_their_gain() -> None:
    zen = Rival(kernels="Zen", setting="Zen", cases=[case("better", 1.1)])
    own = Rival(kernels="SkylakeX", setting=None, cases=[case("better", 1.9), case("no difference", 1.0, "SGEMM")])
    told = tuning(zen, own).words
    assert "unset OPENBLAS_CORETYPE" in told[0]
    for part in (
        "SkylakeX",
        "Haswell",
        "DGEMM: 190 % [188, 192] (better)",
        "SGEMM: 100 % [99, 101] (no difference)",
    ):
        assert part in told[1]
    assert "export OPENBLAS_CORETYPE=Zen" in tuning(zen).words[0]


@pytest.mark.parametrize(
    "cases",
    [
        [case("worse", 0.5)],
        [case("inconclusive", 1.5)],
        [case("better", 1.2), case("worse", 0.9, "SGEMM")],
        [case("incomparable", None)],
    ],
)
def test_kernels_that_are_not_certainly_faster_are_not_advised(cases: list[PairedCase]) -> None:
    found = tuning(Rival(kernels="Zen", setting="Zen", cases=cases))
    assert found.best is None
    assert ["Haswell" in found.words[0], "Zen" in found.words[1]] == [True, True]


def test_only_kernels_that_processor_and_library_have_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def library(core: str) -> Blas:
        return Blas(name="OpenBLAS", version="", origin="", library="", prefix="", configuration="", core=core)

    has = {None: "Zen", "Haswell": "Haswell", "Zen": "Zen", "SkylakeX": "Haswell", "Cooperlake": "Cooperlake"}
    monkeypatch.setattr(blas, "with_kernels", lambda _library, setting: library(has[setting]))
    flags = {"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"}
    tried = [(found.core, setting) for found, setting in tune_blas._others(library("Nehalem"), flags)]
    assert tried == [("Zen", None), ("Haswell", "Haswell")]


@pytest.mark.mpi
@pytest.mark.slow("a second real search; there, LINPACK has one, and this search has written times")
def test_a_real_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(blas.CORETYPE, "Nehalem")
    monkeypatch.setattr(blas, "find", blas.find.__wrapped__)  # which may remember a library without this variable
    monkeypatch.setattr(blas, "KERNELS", {})  # the library's own choice is one rival, and one is enough
    monkeypatch.chdir(tmp_path)
    code = answer(["tune", "blas", "--mpi", "embedded", "--time", "1", "--output", "here"])
    told = capsys.readouterr()
    assert code == 0, told.err
    record = json.loads((tmp_path / "here" / "tune-blas.json").read_text())
    schema = Path(__file__).parents[2] / "schemas" / "tune-blas.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(record)
    assert (record["kernels"], record["setting"]) == ("Nehalem", "Nehalem")
    for rival in record["rivals"]:
        one, other = (
            json.loads((tmp_path / "here" / rival["kernels"] / side / "machine.json").read_text()) for side in "ab"
        )
        assert one["environment"][blas.CORETYPE] == "Nehalem"
        assert other["environment"].get(blas.CORETYPE) == rival["setting"]
        assert other["build"]["blas"]["core"] == rival["kernels"]
        assert all(one["b_median"] > 0 for one in rival["cases"])
    advised = KernelTuning.model_validate(record).words
    assert (tmp_path / "here" / "tuning.txt").read_text().splitlines() == advised
    assert told.out.startswith(advised[0]), "what so short a search finds depends on what else runs here"
