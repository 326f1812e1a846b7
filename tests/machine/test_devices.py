"""Devices of a host: those of made-up libraries of CUDA and OpenCL, and none where these fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.machine import checks, device_libraries, devices, node_types
from hpcscope.machine.device_libraries import Library
from hpcscope.machine.machine import Device, Machine, PcieLink
from hpcscope.report.run import introduction, provenance
from tests import golden_records
from tests.fake_cuda import driver as driver


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("opencl") / "fake_opencl.so"
    source = Path(__file__).with_name("fake_opencl.c")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    return str(made)


@pytest.fixture
def found(
    library: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Device]:
    """What the made-up library answers, as the machine description has it."""
    monkeypatch.setenv("SCOPE_CUDA", "/nowhere/libcuda.so.1")
    monkeypatch.setenv("SCOPE_OPENCL", library)
    monkeypatch.setenv("FAKE_OPENCL", request.param)
    place = tmp_path / "sys/bus/pci/devices/0001:c1:00.1"
    place.mkdir(parents=True)
    (place / "numa_node").write_text("3\n")
    return [Device.model_validate(device) for device in devices.devices(tmp_path)]


@pytest.mark.parametrize("found", ["khr", "nvidia"], indirect=True)
def test_a_graphics_processor_has_its_place_and_hides_the_processors(found: list[Device]) -> None:
    (gpu,) = found
    assert gpu == Device(
        name="Accelerator 9000",
        kind="gpu",
        driver="Made up 1.2",
        memory_bytes=150_000_000_000,
        compute_units=132,
        pci_address="0001:c1:00.1",
        numa_node=3,
    )
    assert gpu.described == (
        "Accelerator 9000 (gpu, 150 GB, 132 compute units, 0001:c1:00.1, NUMA node 3; Made up 1.2)"
    )


@pytest.mark.parametrize("found", ["cpu"], indirect=True)
def test_processors_are_a_device_where_there_is_no_other(found: list[Device]) -> None:
    (processor,) = found
    assert (processor.kind, processor.pci_address, processor.numa_node) == ("cpu", "", None)


@pytest.mark.parametrize("found", ["none", "crash"], indirect=True)
def test_a_driver_that_fails_costs_only_these_facts(found: list[Device]) -> None:
    assert found == []


def test_without_a_library_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_OPENCL", "/nowhere/libOpenCL.so.1")
    monkeypatch.setenv("SCOPE_CUDA", "/nowhere/libcuda.so.1")
    assert devices.devices(tmp_path) == []


@pytest.mark.parametrize("found", ["khr", "known", "none"], indirect=True)
def test_a_device_of_cuda_comes_before_those_of_opencl_and_is_listed_once(
    found: list[Device], driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_CUDA", driver)
    first, *others = [Device.model_validate(device) for device in devices.devices(tmp_path)]
    assert first == Device(
        name="Fake GPU",
        kind="gpu",
        driver="CUDA 12.4",
        memory_bytes=2**30,
        compute_units=1,
        pci_address="0001:c1:00.0",
        numa_node=None,
        memory_bytes_per_s=3.35232e12,
    )
    assert [(each.name, each.pci_address) for each in others] == [
        (each.name, each.pci_address) for each in found if each.pci_address != first.pci_address
    ]
    monkeypatch.setenv("FAKE_CUDA", "init")
    assert [device["name"] for device in devices.devices(tmp_path)] == [each.name for each in found]


@pytest.mark.parametrize(
    ("card", "port", "found"),
    [
        # An idle device lowers the rate of its lanes, not their number.
        (("2.5 GT/s PCIe", "16", "32.0 GT/s PCIe", "16"), ("32.0 GT/s PCIe", "16"), (32e9, 16, 16)),
        (("8.0 GT/s PCIe", "8", "16.0 GT/s PCIe", "16"), ("8.0 GT/s PCIe", "16"), (8e9, 8, 16)),
        (("16 GT/s", "16", "16 GT/s", "16"), ("16 GT/s", "8"), (16e9, 16, 16)),
        (("16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16"), ("2.5 GT/s PCIe", "1"), (16e9, 16, 16)),
        (("16.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "16"), None, (16e9, 4, 16)),
        (("Unknown", "255", "Unknown", "255"), None, None),
        (("16.0 GT/s PCIe", "63", "16.0 GT/s PCIe", "16"), None, None),
    ],
)
def test_a_link_is_what_both_ends_can(
    card: tuple[str, ...],
    port: tuple[str, ...] | None,
    found: tuple[float, int, int] | None,
    tmp_path: Path,
) -> None:
    bridge = tmp_path / "sys/devices/pci0000:00/0000:00:01.0"
    place = bridge / "0000:17:00.0"
    place.mkdir(parents=True)
    names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
    for folder, facts in (
        (place, zip(names, card, strict=True)),
        (bridge, zip(names[2:], port, strict=True) if port else ()),
    ):
        for name, text in facts:
            (folder / name).write_text(f"{text}\n")
    listed = tmp_path / "sys/bus/pci/devices"
    listed.mkdir(parents=True)
    (listed / "0000:17:00.0").symlink_to(place)
    link = devices.link(tmp_path, "0000:17:00.0")
    known = PcieLink.model_validate(link) if link else None
    assert (known and (known.transfers_per_s, known.lanes, known.most_lanes)) == found
    assert devices.link(tmp_path, "") is None


def test_ranks_find_libraries_of_python_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("libnvrtc.so.13", "libnvrtc.alt.so.13", "libcublas.so.13", "libcublasLt.so.13")
    for name in ("cuda_nvrtc/lib/libnvrtc.so.12", *(f"cu13/lib/{name}" for name in names)):
        (tmp_path / "nvidia" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "nvidia" / name).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    newest = {
        "SCOPE_NVRTC": str(tmp_path / "nvidia/cu13/lib/libnvrtc.so.13"),
        "SCOPE_CUBLAS": str(tmp_path / "nvidia/cu13/lib/libcublas.so.13"),
    }
    assert devices.variables() == newest
    monkeypatch.setenv("SCOPE_NVRTC", "/elsewhere")
    del newest["SCOPE_NVRTC"]
    assert devices.variables() == newest, "what the user names is handed on with the other variables"
    monkeypatch.delenv("SCOPE_NVRTC")
    monkeypatch.setattr(sys, "path", [])
    assert devices.variables() == {}


@pytest.mark.parametrize("found", ["khr"], indirect=True)
def test_a_processor_that_is_called_a_device_is_no_hardware_of_its_own(found: list[Device]) -> None:
    plain = Machine.model_validate(golden_records.machine())
    (host,) = plain.hosts
    kinds_of_one = [found[0], found[0].model_copy(update={"kind": "cpu"})]
    with_gpu, with_cpu = (host.model_copy(update={"devices": [device] * 2}) for device in kinds_of_one)
    assert node_types.node_types([host, with_cpu, with_gpu]) == [[0, 1], [2]]
    kinds = [
        introduction.machine_kind(plain.model_copy(update={"hosts": [each]})) for each in (with_gpu, with_cpu)
    ]
    assert kinds[0] == f"{kinds[1]}, 2 Accelerator 9000"


@pytest.mark.parametrize("found", ["khr"], indirect=True)
def test_doctor_and_report_name_devices(found: list[Device], tmp_path: Path) -> None:
    plain = Machine.model_validate(golden_records.machine()).hosts[0]
    equipped = plain.model_copy(update={"devices": found})
    named, none = (
        next(check for check in checks.check(each, tmp_path) if check.name == "devices")
        for each in (equipped, plain)
    )
    assert named.found == "; ".join(device.described for device in found)
    assert (none.ok, none.found) == (True, "none")
    assert "libOpenCL.so.1" in none.advice
    assert "libcuda.so.1" in none.advice
    (group,) = provenance._hosts([equipped])
    assert dict(group.pairs)["Devices"] == named.found


def libraries(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Library]:
    for variable in (*devices.LIBRARIES, devices.COMPILER, devices.PRODUCTS):
        monkeypatch.setenv(variable, environment.pop(variable, "/nowhere/library.so"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return {each.name: each for each in device_libraries.libraries()}


def test_doctor_names_libraries_and_what_is_lacking(
    driver: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = libraries(monkeypatch, SCOPE_CUDA=driver, SCOPE_OPENCL=library, FAKE_OPENCL="khr")
    assert found["CUDA"] == Library("CUDA", True, f"{driver}, CUDA 12.4, 1 device")
    assert found["OpenCL"] == Library("OpenCL", True, f"{library}: Made up, 2 devices")
    assert (found["NVRTC"].ok, found["NVRTC"].found) == (False, "none (/nowhere/library.so)")
    assert found["NVRTC"].advice.endswith("pip install 'nvidia-cuda-nvrtc-cu12'")
    assert found["cuBLAS"].advice.endswith("pip install 'nvidia-cublas-cu12'")
    found = libraries(monkeypatch, SCOPE_CUDA=driver, SCOPE_NVRTC=driver, SCOPE_CUBLAS=driver, FAKE_CUDA="init")
    assert found["cuBLAS"] == Library("cuBLAS", True, f"{driver}, CUDA 12.4")
    assert found["NVRTC"] == Library("NVRTC", True, f"{driver}, CUDA 12.4")
    assert (found["CUDA"].ok, found["CUDA"].found) == (False, f"{driver}, CUDA 12.4: error 100")
    assert "nvidia-smi" in found["CUDA"].advice
    assert found["OpenCL"] == Library("OpenCL", True, "none (/nowhere/library.so)")


def test_doctor_survives_a_driver_that_crashes(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (only,) = libraries(monkeypatch, SCOPE_OPENCL=library, FAKE_OPENCL="crash").values()
    assert (only.ok, only.found) == (False, "CUDA or OpenCL: ended without an answer")


@pytest.mark.parametrize("found", ["khr"], indirect=True)
def test_doctor_names_cards_that_no_library_drives(
    found: list[Device], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = {
        found[0].pci_address: ("0x10de", "0x030200"),
        "0000:17:00.0": ("0x10de", "0x030000"),
        "0000:18:00.0": ("0x1002", "0x038000"),
        "0000:19:00.0": ("0x8086", "0x030000"),
        "0000:1a:00.0": ("0x8086", "0x020000"),
    }
    for address, (vendor, kind) in cards.items():
        card = tmp_path / "sys/bus/pci/devices" / address
        card.mkdir(parents=True, exist_ok=True)
        (card / "vendor").write_text(f"{vendor}\n")
        (card / "class").write_text(f"{kind}\n")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    nvidia, amd = device_libraries.undriven(tmp_path, found)
    assert nvidia == Library(
        "card", False, "NVIDIA, 0000:17:00.0: no library drives it", "needs the driver, which has libcuda.so.1"
    )
    assert amd.found.startswith("AMD, 0000:18:00.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    hidden, _ = device_libraries.undriven(tmp_path, found)
    assert hidden == Library("card", True, "NVIDIA, 0000:17:00.0: hidden by CUDA_VISIBLE_DEVICES")
