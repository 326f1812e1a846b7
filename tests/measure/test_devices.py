"""The benchmarks of devices on PoCL, which makes a device of the processors: what they compute, not how fast."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hpcscope.build import registry
from hpcscope.machine.machine import NativeBuild
from tests.measure.conftest import Measure, only_case
from tests.messages import mentions

POCL = Path("/etc/OpenCL/vendors/pocl.icd")
CASES = [
    *(f"device.stream kernel={kernel} array_bytes=80008" for kernel in ("copy", "scale", "add", "triad", "dot")),
    "device.launch",
    *(
        f"device.transfer direction={direction} memory={memory} transfer_bytes=1001"
        for direction in ("to_device", "to_host", "both")
        for memory in ("pinned", "pageable")
    ),
    "device.memory_latency array_bytes=100000",
    "device.peak precision=double",
    "device.peak precision=single",
    "device.atomics counters=1",
    "device.atomics counters=1000",
    "device.matrix_multiply variant=tiled precision=double n=20",
    "device.matrix_multiply variant=tiled precision=single n=9",
]
SMALLEST = [
    "device.stream kernel=triad array_bytes=8",
    "device.stream kernel=dot array_bytes=8",
    "device.transfer direction=both transfer_bytes=1",
    "device.memory_latency array_bytes=64",
    "device.matrix_multiply variant=tiled n=1",
]
WRONG_KERNELS = {
    "device.stream kernel=copy array_bytes=80008": "c[ITEM] = a[ITEM]=>c[ITEM] = b[ITEM]",
    "device.stream kernel=scale array_bytes=80008": "3.0 * a=>3.5 * a",
    "device.stream kernel=add array_bytes=80008": "a[ITEM] + b[ITEM]=>a[ITEM] - b[ITEM]",
    "device.stream kernel=triad array_bytes=80008": "a[ITEM] + 3.0=>a[ITEM] + 3.1",
    "device.stream kernel=dot array_bytes=80008": "pairs > 0=>pairs > 1",
    "device.launch": "launches[0] += 1=>launches[0] += 2",
    "device.memory_latency array_bytes=100000": "unsigned int i = 0=>unsigned int i = 1",
    "device.peak precision=single": "round < 1024=>round < 1023",
    "device.atomics counters=1000": "int i = 0; i < 16=>int i = 1; i < 16",
    "device.matrix_multiply variant=tiled n=20": "int k = 0; k < EDGE=>int k = 1; k < EDGE",
}


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where PoCL keeps what it compiled."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def pocl(monkeypatch: pytest.MonkeyPatch, kernels: Path) -> None:
    """PoCL as the only driver."""
    if not POCL.is_file():
        pytest.skip("PoCL is not installed")
    monkeypatch.delenv("SCOPE_OPENCL", raising=False)
    monkeypatch.setenv("OCL_ICD_VENDORS", str(POCL))
    monkeypatch.setenv("POCL_CACHE_DIR", str(kernels))


@pytest.fixture(scope="session")
def wrong_opencl(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("wrong") / "wrong_opencl.so"
    source = Path(__file__).with_name("wrong_opencl.c")
    linked = ["-Wl,--no-as-needed", "-l:libOpenCL.so.1"]
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), *linked], check=True)
    return str(library)


TWO = pytest.mark.slow("every case once more; there, one rank has them, and two have cases with wrong results")


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=TWO)])
def test_every_result_is_right_and_every_metric_observed(
    ranks: int, measure: Measure, embedded_build: NativeBuild
) -> None:
    ended = measure(ranks, [*CASES, *SMALLEST])
    assert ended.code == 0, [case.reason for case in ended.cases]
    listed = registry.load(embedded_build.program)
    for case in ended.cases:
        assert case.status == "ok", case.reason
        assert case.verification is not None
        assert case.verification.checks >= ranks
        observed = {metric.name for metric in listed[case.benchmark].metrics if metric.quantity == "observed"}
        assert set(case.series[0].observed) == observed
        assert all(value > 0 for values in case.series[0].observed.values() for rank in values for value in rank)
        assert case.settings["device_kind"] == "cpu", "these are processors, whatever the driver calls them"
        assert case.settings["ranks_on_device"] == ranks


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize("fault", ["wrong-result", "corrupt-payload"])
def test_every_wrong_result_is_noticed(fault: str, measure: Measure) -> None:
    names = sorted({case.split()[0] for case in CASES})
    ended = measure(2, CASES, SCOPE_FAULT=" ".join(f"{fault}:{name}" for name in names))
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(CASES)
    who = "rank 0 on " if fault == "wrong-result" else "rank 1 on "
    assert all(who in case.reason for case in ended.cases)


@pytest.mark.usefixtures("pocl")
def test_every_wrong_kernel_is_noticed(measure: Measure, wrong_opencl: str) -> None:
    rules = "\n".join(WRONG_KERNELS.values())
    ended = measure(1, [*WRONG_KERNELS], SCOPE_OPENCL=wrong_opencl, WRONG_KERNEL=rules)
    assert ended.code == 1
    for rule in WRONG_KERNELS.values():
        assert f"wrong kernel: {rule.partition('=>')[0]}" in ended.errors
    assert [case.status for case in ended.cases] == ["failed"] * len(WRONG_KERNELS)
    assert not any("compile" in case.reason for case in ended.cases)


@pytest.mark.usefixtures("pocl")
def test_every_byte_that_was_not_copied_is_noticed(measure: Measure, wrong_opencl: str) -> None:
    transfers = [case for case in CASES if case.startswith("device.transfer")]
    ended = measure(1, transfers, SCOPE_OPENCL=wrong_opencl, WRONG_COPY="1")
    assert [case.status for case in ended.cases] == ["failed"] * len(transfers)
    assert all(mentions(case.reason, "bytes 1000 to 1000") for case in ended.cases), ended.cases[0].reason
    right = measure(1, transfers, SCOPE_OPENCL=wrong_opencl)
    assert [case.status for case in right.cases] == ["ok"] * len(transfers)


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("device.launch device=1", "no device 1: this host has 1 device"),
        ("device.stream array_bytes=1099511627776", "3298534883328 B on the device ... half of the free memory"),
        ("device.transfer transfer_bytes=68719476736", "137438953472 B ... half of the free memory"),
        ("device.matrix_multiply", "no BLAS for OpenCL is known"),
        ("device.matrix_multiply variant=tiled precision=half", "no tiled kernel in precision half"),
    ],
)
def test_what_a_device_cannot_do_is_said(case: str, reason: str, measure: Measure) -> None:
    refused = only_case(measure(2, [case]))
    assert refused.status == "unavailable"
    assert mentions(refused.reason, reason)


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"SCOPE_OPENCL": "/nowhere/libOpenCL.so.1"}, "/nowhere/libOpenCL.so.1: cannot open"),
        ({"OCL_ICD_VENDORS": "/nowhere"}, "libOpenCL.so.1 knows no device"),
    ],
)
def test_without_a_library_or_a_device_cases_are_unavailable(
    environment: dict[str, str], reason: str, measure: Measure
) -> None:
    names = sorted({case.split()[0] for case in CASES})
    ended = measure(2, names, **environment)
    assert ended.code == 0
    assert [case.benchmark for case in ended.cases] == names
    for case in ended.cases:
        assert case.status == "unavailable"
        assert reason in case.reason
