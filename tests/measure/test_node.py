"""The benchmarks of one node: every check is seen to fail, and what cannot be measured says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.machine import processors
from hpcscope.samples.records import CaseRecord
from tests.measure.conftest import Ended, Measure
from tests.messages import mentions

LAPACK = ("lu", "cholesky", "qr", "eigenvalues", "singular_values", "gesv", "posv", "gels")
LOOPS = [f"node.livermore kernel={kernel} span={span}" for kernel in range(1, 25) for span in ("long", "short")]
CASES = [
    "node.memory_latency array_bytes=100000",
    "node.memory_copy array_bytes=100000",
    *(f"node.vector_rate vector_length=33 kernel={kernel}" for kernel in ("triad", "multiply", "dot")),
    "node.intensity intensity=1 array_bytes=1000",
    "node.intensity intensity=16 array_bytes=1000",
    *(f"node.peak precision={precision} instructions=widest" for precision in ("double", "single")),
    "node.peak instructions=compiled",
    *(f"node.matrix_multiply n=65 precision={precision}" for precision in ("double", "single")),
    # Faults land in the middle of the matrix: of an odd size it is on the diagonal, and so in every triangle.
    *(f"node.lapack n=41 routine={routine}" for routine in LAPACK),
    *(f"node.lapack n=41 routine={routine} precision=single" for routine in LAPACK),
    *LOOPS,
    *(f"node.clock_rate interval_ms=1 clock={clock}" for clock in ("register", "clock_gettime", "mpi_wtime")),
    "node.linpack_small n=100 solver=plain",
    "node.linpack_small n=300 solver=plain",
    "node.linpack_small n=100 solver=lapack",
    "node.noise quanta=1000",
    *(
        f"node.disk file_bytes=65536 block_bytes=4096 operation={each}"
        for each in ("write", "overwrite", "rewrite", "read")
    ),
]
SMALLEST = [
    "node.memory_latency array_bytes=64",
    "node.memory_copy array_bytes=1",
    "node.vector_rate vector_length=1",
    "node.intensity array_bytes=8",
    "node.matrix_multiply n=1",
    *(f"node.lapack n=1 routine={routine}" for routine in LAPACK),
    "node.linpack_small n=1",
    "node.disk file_bytes=1 block_bytes=1 cache=cached operation=read",
]


def only_case(ended: Ended) -> CaseRecord:
    assert len(ended.cases) == 1, ended.errors
    return ended.cases[0]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("SCOPE_SCRATCH", str(folder))
    return folder


@pytest.mark.usefixtures("scratch")
def test_every_result_is_right(measure: Measure) -> None:
    ended = measure(2, [*CASES, *SMALLEST])
    assert ended.code == 0, [case.reason for case in ended.cases]
    for case in ended.cases:
        assert case.status == "ok", case.reason
        assert case.verification is not None
        assert case.verification.checks >= 2, case.benchmark


def test_the_threads_of_lapack_are_those_asked_for(measure: Measure) -> None:
    lines = ["node.lapack n=41 routine=gesv threads=0", "node.lapack n=41 routine=gesv threads=1"]
    every, one = [case.series[0].observed["threads_used"][0][0] for case in measure(1, lines).cases]
    assert (every, one) == (processors.usable(), 1)


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("fault", ["wrong-result", "corrupt-payload"])
def test_every_wrong_result_is_noticed(fault: str, measure: Measure) -> None:
    names = sorted({case.split()[0] for case in CASES})
    ended = measure(2, CASES, SCOPE_FAULT=" ".join(f"{fault}:{name}" for name in names))
    assert ended.code == 1
    assert len(ended.cases) == len(CASES), ended.errors
    who = "rank 0 on " if fault == "wrong-result" else "rank 1 on "
    for case in ended.cases:
        assert case.status == "failed", (case.benchmark, case.parameters)
        assert who in case.reason


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("node.lapack threads=4000", "threads=4000: "),
        ("node.disk file_bytes=10 block_bytes=100 cache=cached", "file_bytes ... block_bytes"),
        ("node.disk file_bytes=8192 block_bytes=100 cache=direct", "4096 B"),
        ("node.disk file_bytes=17592186044416", "17592186044416 B"),
    ],
)
@pytest.mark.usefixtures("scratch")
def test_what_the_disk_cannot_do_is_said(case: str, reason: str, measure: Measure) -> None:
    ended = measure(1, [case])
    assert ended.code == 0, ended.errors
    assert only_case(ended).status == "unavailable"
    assert mentions(only_case(ended).reason, reason)


def test_memory_is_no_disk(measure: Measure) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no tmpfs here")
    lines = [
        "node.disk file_bytes=65536 block_bytes=4096",
        "node.disk file_bytes=65536 block_bytes=4096 cache=cached",
    ]
    disk, cached = measure(1, lines, SCOPE_SCRATCH="/dev/shm").cases
    assert disk.status == "unavailable"
    assert mentions(disk.reason, "/dev/shm ... tmpfs ... SCOPE_SCRATCH")
    assert cached.status == "ok"


def test_a_folder_that_is_not_there_is_named(measure: Measure, tmp_path: Path) -> None:
    case = only_case(measure(1, ["node.disk"], SCOPE_SCRATCH=str(tmp_path / "gone")))
    assert case.status == "unavailable"
    assert mentions(case.reason, "gone: ... No such file")


def test_nothing_stays_on_the_disk(measure: Measure, scratch: Path) -> None:
    measure(2, ["node.disk file_bytes=65536 block_bytes=4096"])
    assert list(scratch.iterdir()) == []


def test_noise_is_observed_on_every_rank(measure: Measure) -> None:
    case = only_case(measure(2, ["node.noise quanta=2000"]))
    observed = case.series[0].observed
    assert set(observed) == {"noise_share", "longest_detour_s", "detours_per_s", "period_s"}
    for values in observed.values():
        assert len(values) == 2
        assert all(value >= 0 for rank in values for value in rank)
    assert all(value <= 1 for rank in observed["noise_share"] for value in rank)


def test_work_is_declared(measure: Measure) -> None:
    lines = [
        "node.memory_latency array_bytes=65536",
        "node.matrix_multiply n=10",
        "node.lapack n=10 routine=cholesky",
        "node.lapack n=10 routine=eigenvalues",
        "node.linpack_small n=100",
    ]
    walk, product, cholesky, eigenvalues, linpack = [case.work for case in measure(2, lines).cases]
    assert walk is not None
    assert walk.steps > 0
    assert product is not None
    assert product.flops == 2 * 2000
    assert cholesky is not None
    assert cholesky.flops == pytest.approx(2 * (1000 / 3 + 50 + 10 / 6))
    assert eigenvalues is not None
    assert eigenvalues.flops == 0
    assert linpack is not None
    assert linpack.flops == pytest.approx(2 * (2e6 / 3 + 2e4))


def test_a_rank_without_work_in_the_timed_part_can_be_sampled(measure: Measure) -> None:
    """What a time below zero does to its digests, the native test of digests shows."""
    case = only_case(measure(2, ["node.core_to_core array_bytes=65536 sampling.budget_s=0.05"]))
    assert (case.status, case.reason) == ("ok", "")
    assert len(case.series[0].elapsed_s) > 1
