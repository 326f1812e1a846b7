"""The benchmarks of devices through CUDA: run by a fake driver on processors, and compiled by the real NVRTC."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.machine import devices
from tests.fake_cuda import driver as driver
from tests.measure.conftest import Ended, Measure
from tests.measure.test_devices import CASES, SMALLEST, WRONG_KERNELS
from tests.measure.test_devices import kernels as kernels
from tests.measure.test_devices import pocl as pocl
from tests.measure.test_devices import wrong_opencl as wrong_opencl
from tests.messages import mentions

HALF = "device.peak precision=half"
PRODUCTS = [
    f"device.matrix_multiply precision={precision} n=100"
    for precision in ("double", "single", "tf32", "half", "bfloat16")
]
TRANSFERS = [case for case in CASES if case.startswith("device.transfer")]
STATE = {
    "device_clock_hz": 1_755_000_000,
    "device_highest_clock_hz": 1_980_000_000,
    "device_memory_clock_hz": 2_619_000_000,
    "device_power_mw": 312_000,
    "device_temperature_c": 61,
    "device_slowed_by_power_ns": 0,
    "device_slowed_by_heat_ns": 7_000_000,
    "device_link_generation": 4,
    "device_most_link_generation": 5,
    "device_link_lanes": 8,
    "device_most_link_lanes": 16,
    "device_corrected_errors_ever": 70,
    "device_uncorrected_errors_ever": 1,
    "device_new_corrected_errors": 3,
    "device_new_uncorrected_errors": 0,
}
KERNELS = [
    *("device.stream", "device.launch", "device.memory_latency", "device.atomics"),
    *("device.peak precision=double", "device.peak precision=single", HALF),
    *(f"device.matrix_multiply variant=tiled precision={precision}" for precision in ("double", "single")),
]
"""Each text of a kernel once."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the driver keeps compiled kernels."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, driver: str, folder: Path) -> None:
    """Let that driver, and the NVRTC in it, be the only one."""
    monkeypatch.setenv("SCOPE_CUDA", driver)
    monkeypatch.setenv("SCOPE_NVRTC", driver)
    monkeypatch.setenv("SCOPE_NVML", driver)
    monkeypatch.setenv("SCOPE_CUBLAS", driver)
    monkeypatch.setenv("FAKE_CUDA_FOLDER", str(folder))


def reasons(ended: Ended, status: str) -> list[str]:
    assert {case.status for case in ended.cases} == {status}, ended.errors
    return [case.reason for case in ended.cases]


@pytest.mark.usefixtures("cuda")
def test_every_result_is_right(measure: Measure) -> None:
    cases = [*CASES, *SMALLEST, HALF, *PRODUCTS]
    ended = measure(1, cases, FAKE_CUDA_CAPABILITY="53", FAKE_CUDA_HOT="7", FAKE_CUDA_ERRORS="3")
    assert (ended.code, len(ended.cases)) == (0, len(cases)), [case.reason for case in ended.cases]
    for case in ended.cases:
        assert case.status == "ok", case.reason
        assert case.verification is not None
        assert case.verification.checks >= 1
        assert all(value > 0 for values in case.series[0].observed.values() for rank in values for value in rank)
        assert case.settings["device_name"] == "Fake GPU"
        assert case.settings["device_kind"] == "gpu"
        assert case.settings["device_driver"] == "CUDA 12.4"
        assert case.settings["device_pci_address"] == "0001:c1:00.0"
        assert case.settings["device_remark"] == ""
        assert {name: value for name, value in case.settings.items() if name in STATE} == STATE
        assert not {"device_power_limit_mw", "device_persistence_mode"} & case.settings.keys(), "it tells neither"


PEERS = [f"device.peer access={access} transfer_bytes=1001" for access in ("direct", "through_host", "direct")]


@pytest.mark.usefixtures("cuda")
def test_devices_reach_each_other(measure: Measure) -> None:
    ended = measure(1, PEERS, FAKE_CUDA_DEVICES="2")
    for case in ended.cases:
        assert case.status == "ok", case.reason
        assert case.verification is not None
        assert case.verification.checks >= 1001
        places = [case.settings[name] for name in ("device_pci_address", "peer_pci_address")]
        assert places == ["0001:c1:00.0", "0001:c2:00.0"]
    assert len(ended.cases) == len(PEERS)
    for reason in reasons(measure(1, PEERS, FAKE_CUDA_DEVICES="2", FAKE_CUDA="copy"), "failed"):
        assert mentions(reason, "bytes 1000 to 1000")


@pytest.mark.usefixtures("cuda")
def test_devices_that_do_not_reach_each_other_say_so(measure: Measure) -> None:
    direct, through_host, _ = measure(1, PEERS, FAKE_CUDA_DEVICES="2", FAKE_CUDA="peer").cases
    assert (direct.status, through_host.status) == ("unavailable", "ok")
    assert "cannot access the other device's memory directly" in direct.reason
    (alone,) = reasons(measure(1, PEERS[:1]), "unavailable")
    assert "no device 1: this host has 1 device" in alone
    (same,) = reasons(measure(1, [f"{PEERS[0]} peer=0"]), "unavailable")
    assert "peer=0: is the device itself" in same


@pytest.mark.usefixtures("cuda")
def test_every_wrong_kernel_is_noticed(measure: Measure) -> None:
    ended = measure(1, [*WRONG_KERNELS], WRONG_KERNEL="\n".join(WRONG_KERNELS.values()))
    for rule in WRONG_KERNELS.values():
        assert f"wrong kernel: {rule.partition('=>')[0]}" in ended.errors
    found = reasons(ended, "failed")
    assert len(found) == len(WRONG_KERNELS)
    assert not any("compile" in reason or "CUDA" in reason for reason in found)


@pytest.mark.usefixtures("cuda")
def test_every_byte_that_was_not_copied_is_noticed(measure: Measure) -> None:
    for reason in reasons(measure(1, TRANSFERS, FAKE_CUDA="copy"), "failed"):
        assert mentions(reason, "bytes 1000 to 1000")


@pytest.mark.usefixtures("cuda")
def test_one_wrong_element_of_a_product_is_noticed(measure: Measure) -> None:
    for reason in reasons(measure(1, PRODUCTS, FAKE_CUDA="product"), "failed"):
        assert mentions(reason, "the element in row 99, column 99 is wrong")


@pytest.mark.usefixtures("cuda")
def test_without_cublas_products_are_those_of_the_tiled_kernel(measure: Measure) -> None:
    cases = [PRODUCTS[0], "device.matrix_multiply variant=tiled n=10"]
    tuned, tiled = measure(1, cases, SCOPE_CUBLAS="/nowhere/libcublas.so.12").cases
    assert (tuned.status, tiled.status) == ("unavailable", "ok")
    assert mentions(tuned.reason, "/nowhere/libcublas.so.12: cannot ... nvidia-cublas-cu12")
    assert "matrix_library" not in tiled.settings
    (found,) = measure(1, cases[:1]).cases
    assert found.settings["matrix_library"] == "cuBLAS 12.4.5"
    (refused,) = reasons(measure(1, cases[:1], FAKE_CUDA="cublas"), "failed")
    assert "cublasCreate failed with CUBLAS_STATUS_NOT_INITIALIZED" in refused


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("init", "unavailable", "cuInit failed with CUDA_ERROR_NO_DEVICE"),
        ("memory", "failed", "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_a_case_that_cannot_begin_says_why(fault: str, status: str, words: str, measure: Measure) -> None:
    (reason,) = reasons(measure(1, ["device.launch"], FAKE_CUDA=fault), status)
    assert words in reason


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("launch", "cuLaunchKernel failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
        ("kernel", "cuStreamSynchronize failed with CUDA_ERROR_LAUNCH_FAILED"),
    ],
)
def test_a_launch_that_fails_ends_the_program(fault: str, words: str, measure: Measure) -> None:
    ended = measure(1, ["device.launch"], FAKE_CUDA=fault)
    assert (ended.code, ended.cases) == (1, [])
    assert mentions(ended.errors, f"scope-measure: device.launch: rank 0 ... {words}")


@pytest.mark.usefixtures("cuda")
def test_the_words_of_the_compiler_are_said(measure: Measure) -> None:
    (reason,) = reasons(measure(1, ["device.launch"], WRONG_KERNEL="launches[0]=>landings[0]"), "failed")
    assert mentions(reason, "kernel count does not compile ... landings")


@pytest.mark.usefixtures("cuda")
def test_without_a_compiler_data_are_copied_all_the_same(measure: Measure) -> None:
    ended = measure(1, ["device.launch", "device.transfer"], SCOPE_NVRTC="/nowhere/libnvrtc.so.12")
    launch, transfer = ended.cases
    assert (launch.status, transfer.status) == ("unavailable", "ok")
    assert mentions(
        launch.reason, "compiles no kernels: /nowhere/libnvrtc.so.12: cannot ... nvidia-cuda-nvrtc-cu12"
    )


@pytest.mark.usefixtures("cuda", "pocl")
@pytest.mark.parametrize(
    ("compiler", "library", "remark"),
    [
        ({}, "CUDA 12.4", ""),
        (
            {"SCOPE_NVRTC": "/nowhere/nvrtc"},
            "Portable Computing Language",
            "CUDA compiles no kernels: /nowhere/nvrtc",
        ),
    ],
)
def test_a_device_of_two_libraries_is_listed_once(
    compiler: dict[str, str],
    library: str,
    remark: str,
    measure: Measure,
    wrong_opencl: str,
) -> None:
    environment = {"SCOPE_OPENCL": wrong_opencl, "PCI_BUS": str(0xC1), **compiler}
    driven, second = measure(1, ["device.launch", "device.launch device=1"], **environment).cases
    assert driven.status == "ok", driven.reason
    assert str(driven.settings["device_driver"]).startswith(library)
    assert driven.settings["device_pci_address"] == "0001:c1:00.0"
    assert str(driven.settings["device_remark"]).startswith(remark)
    assert mentions(second.reason, "no device 1: this host has 1 device")


@pytest.mark.usefixtures("cuda", "pocl")
def test_ranks_share_a_graphics_processor_next_to_processors(measure: Measure) -> None:
    (shared,) = measure(2, ["mpi.allreduce memory=staged message_bytes=8"]).cases
    assert shared.status == "ok", shared.reason
    assert (shared.settings["device_name"], shared.settings["ranks_on_device"]) == ("Fake GPU", 2)


@pytest.mark.parametrize(
    ("capability", "begin", "add"),
    [("70", b"\x7fELF", b""), ("90", b"\x7fELF", b""), ("100", b"\x7fELF", b""), ("999", b"", b"fma.rn.")],
)
def test_nvrtc_compiles_every_kernel(
    capability: str,
    begin: bytes,
    add: bytes,
    measure: Measure,
    driver: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver keeps the code and refuses it. For a device that NVRTC does not know yet, the code is PTX."""
    compiler = devices.variables()
    if not compiler:
        pytest.skip("NVRTC is not installed")
    environment = {"SCOPE_CUDA": driver, "FAKE_CUDA_CAPABILITY": capability, "FAKE_CUDA_FOLDER": str(tmp_path)}
    for name, value in {**environment, **compiler}.items():
        monkeypatch.setenv(name, value)
    for reason in reasons(measure(1, KERNELS), "failed"):
        assert "cuModuleLoadData failed with CUDA_ERROR_NO_BINARY_FOR_GPU" in reason
    codes = {path.stem: path.read_bytes() for path in tmp_path.glob("*.code")}
    names = [b"stream_triad", b"count", b"walk", b"update", *[b"peak"] * 3, *[b"product"] * 2]
    assert len(codes) == len(names)
    for number, name in enumerate(names, 1):
        assert codes[str(number)].startswith(begin)
        assert name in codes[str(number)]
    for number, kind in ((5, b"f64"), (6, b"f32"), (7, b"f16x2")):
        assert add == b"" or add + kind in codes[str(number)]


FIRST_CALLS = """
from ctypes import *
cuda, context, array = CDLL({driver!r}), c_void_p(), c_uint64()
stream, event, elapsed = c_void_p(), c_void_p(), c_float()
cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(byref(context), 0)
"""
WITH_CONTEXT = "cuda.cuCtxSetCurrent(context), cuda.cuMemAlloc_v2(byref(array), c_size_t(8))\n"
WITH_STREAM = f"{WITH_CONTEXT}cuda.cuStreamCreate(byref(stream), 1), cuda.cuEventCreate(byref(event), 0)\n"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ("cuda.cuMemAlloc_v2(byref(array), c_size_t(8))", "cuMemAlloc: without a context"),
        (
            f"{WITH_CONTEXT}cuda.cuMemFree_v2(array), cuda.cuMemFree_v2(array)",
            "cuMemFree: no memory of the device",
        ),
        (
            f"{WITH_STREAM}cuda.cuMemcpyHtoDAsync_v2(array, b'x' * 9, c_size_t(9), stream)",
            "cuMemcpyHtoDAsync: no memory of the device, or beyond its end",
        ),
        (
            f"{WITH_STREAM}cuda.cuEventElapsedTime(byref(elapsed), event, event)",
            "an event that was never recorded",
        ),
        (
            f"{WITH_STREAM}cuda.cuEventRecord(event, stream), cuda.cuStreamDestroy_v2(stream)",
            "commands wait in it",
        ),
    ],
)
def test_the_driver_ends_a_process_that_misuses_it(calls: str, words: str, driver: str) -> None:
    script = FIRST_CALLS.format(driver=driver) + calls
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, errors="replace")
    assert ended.returncode < 0
    assert words in ended.stderr
