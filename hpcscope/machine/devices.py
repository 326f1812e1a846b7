"""Graphics processors and other devices of this host, as reported by CUDA, OpenCL and the kernel.

`python -m hpcscope.machine.devices` prints them as JSON. The probe starts it as a separate process: a driver
that hangs or crashes costs these facts, never the probe. The native program numbers devices in the same order
(`measure/src/devices/`).
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import CDLL, byref, c_int, c_size_t, c_uint32, c_uint64, c_void_p, create_string_buffer
from pathlib import Path
from typing import Any, TypeVar

from hpcscope.machine.kernel_files import number_of, text_of

PATIENCE_S = 20
"""How long drivers may take to start."""
LIBRARIES = {"SCOPE_CUDA": "libcuda.so.1", "SCOPE_OPENCL": "libOpenCL.so.1"}
"""The variables that name other library files, and the default files."""
COMPILER = "SCOPE_NVRTC"
"""The variable for the library that compiles kernels for CUDA."""
PRODUCTS = "SCOPE_CUBLAS"
"""The variable for the library of matrix products for CUDA."""
ALL_DEVICES = 0xFFFFFFFF
KINDS = ("gpu", "accelerator", "cpu")
"""Kinds of devices, in the order in which devices are numbered."""
OF_CPU, OF_GPU = 2, 4
PLATFORM_NAME = 0x902
TYPE, COMPUTE_UNITS, MEMORY, NAME, DRIVER, EXTENSIONS = 0x1000, 0x1002, 0x101F, 0x102B, 0x102D, 0x1030
PCI_BUS = 0x410F
"""Query of cl_khr_pci_bus_info: domain, bus, device and function."""
PCI_BUS_NVIDIA, PCI_SLOT_NVIDIA, PCI_DOMAIN_NVIDIA = 0x4008, 0x4009, 0x400A
"""Queries of cl_nv_device_attribute_query."""
CUDA_MULTIPROCESSORS, CUDA_PCI, CUDA_MEMORY = 16, (50, 33, 34), (36, 37)
"""Attributes of CUDA: multiprocessors; PCI domain, bus and device; memory clock in kHz and width in bits."""
MOST_LANES = 32
"""Most lanes of a PCI Express link; a kernel that does not know the number reports more."""

Number = TypeVar("Number", c_uint32, c_uint64)


def devices(root: Path) -> list[dict[str, Any]]:
    """Return the devices of this host in the shape of `machine.Device`; none if there is no library."""
    if not any(map(library, LIBRARIES)):
        return []
    command = [sys.executable, "-m", "hpcscope.machine.devices"]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        found = json.loads(answer.stdout or "[]")
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    return [
        {
            **device,
            "numa_node": numa_node(root, device["pci_address"]),
            "link": link(root, device["pci_address"]),
        }
        for device in found
    ]


def numa_node(root: Path, pci_address: str) -> int | None:
    """Return the NUMA node next to a PCI device; None if the kernel does not say."""
    said = text_of(root / "sys/bus/pci/devices" / pci_address / "numa_node") if pci_address else ""
    return int(said) if said.isdigit() else None


def link(root: Path, pci_address: str) -> dict[str, float | int] | None:
    """Return the link of a PCI device in the shape of `machine.PcieLink`; None if the kernel knows none."""
    card = (root / "sys/bus/pci/devices" / pci_address).resolve()
    ends = [card, card.parent] if pci_address else []
    rates = [_transfers_per_s(end / "max_link_speed") for end in ends]
    widths = [number_of(end / "max_link_width") for end in ends]
    # The port of a virtual machine may claim less than the link has.
    rate = (
        max(_transfers_per_s(card / "current_link_speed"), min(filter(None, rates), default=0.0)) if ends else 0.0
    )
    lanes = number_of(card / "current_link_width") if ends else 0
    if not rate or not 0 < lanes <= MOST_LANES:
        return None
    most = max(lanes, min((width for width in widths if 0 < width <= MOST_LANES), default=0))
    return {"transfers_per_s": rate, "lanes": lanes, "most_lanes": most}


def _transfers_per_s(file: Path) -> float:
    """Read `16.0 GT/s PCIe`; return 0 if the kernel does not know the rate."""
    said = re.match(r"(\d+(?:\.\d+)?) GT/s", text_of(file))
    return float(said[1]) * 1e9 if said else 0.0


def variables() -> dict[str, str]:
    """Return the variables for NVRTC and cuBLAS of Python packages next to Scope, unless the user names others."""
    package = importlib.util.find_spec("nvidia")
    folders = package.submodule_search_locations or () if package else ()
    variables = {}
    for variable, name in ((COMPILER, "libnvrtc"), (PRODUCTS, "libcublas")):
        found = [path for folder in folders for path in Path(folder).glob(f"*/lib/{name}.so.*")]
        if found and not os.environ.get(variable):
            variables[variable] = str(max(found, key=lambda path: path.name))
    return variables


def file_of(variable: str) -> str:
    """Return the file of a library that a variable may name."""
    return os.environ.get(variable) or LIBRARIES[variable]


def library(variable: str) -> CDLL | None:
    """Return the library of a variable; None if it cannot be opened."""
    with suppress(OSError):
        return CDLL(file_of(variable))
    return None


def platforms(opencl: CDLL) -> list[tuple[str, list[int]]]:
    """Return the name and the devices of each platform of an OpenCL library."""
    return [
        (
            _text(opencl.clGetPlatformInfo, platform, PLATFORM_NAME),
            list(_listed(opencl.clGetDeviceIDs, c_void_p(platform), c_uint64(ALL_DEVICES))),
        )
        for platform in _listed(opencl.clGetPlatformIDs)
    ]


def _all() -> list[dict[str, Any]]:
    """Query both libraries: list a device that both know once, and processors only if there is nothing else."""
    found = _cuda()
    known = {device["pci_address"] for device in found}
    found += [device for device in _opencl() if device["pci_address"] not in known]
    others = [device for device in found if device["kind"] != "cpu"]
    return sorted(others or found, key=lambda device: KINDS.index(device["kind"]))


def _cuda() -> list[dict[str, Any]]:
    cuda, count = library("SCOPE_CUDA"), c_int()
    if cuda is None or cuda.cuInit(0) or cuda.cuDeviceGetCount(byref(count)):
        return []
    driver = f"CUDA {cuda_version(cuda)}"
    return [{**_cuda_device(cuda, number), "driver": driver} for number in range(count.value)]


def cuda_version(cuda: CDLL) -> str:
    """Return the newest CUDA version that a driver supports: `12.4`."""
    version = c_int()
    cuda.cuDriverGetVersion(byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _cuda_device(library: CDLL, number: int) -> dict[str, Any]:
    device, name, memory = c_int(), create_string_buffer(256), c_size_t()
    library.cuDeviceGet(byref(device), number)
    library.cuDeviceGetName(name, 255, device)
    library.cuDeviceTotalMem_v2(byref(memory), device)
    units, clock_khz, width_bits, *place = (
        _cuda_attribute(library, device, what) for what in (CUDA_MULTIPROCESSORS, *CUDA_MEMORY, *CUDA_PCI)
    )
    return {
        "name": name.value.decode(errors="replace"),
        "kind": "gpu",
        "memory_bytes": memory.value,
        "compute_units": units,
        "pci_address": "{:04x}:{:02x}:{:02x}.0".format(*place),
        "memory_bytes_per_s": 2e3 * clock_khz * width_bits / 8 or None,
    }


def _cuda_attribute(library: CDLL, device: c_int, what: int) -> int:
    number = c_int()
    library.cuDeviceGetAttribute(byref(number), what, device)
    return number.value


def _opencl() -> list[dict[str, Any]]:
    """Ask the OpenCL library for all devices of all platforms."""
    opencl = library("SCOPE_OPENCL")
    if opencl is None:
        return []
    return [_device(opencl, name, device) for name, handles in platforms(opencl) for device in handles]


def _listed(ask: Callable[..., int], *of: Any) -> Iterator[int]:
    """Yield the handles that a function lists, which is first asked for their number."""
    count = c_uint32()
    if ask(*of, c_uint32(0), None, byref(count)) == 0 and count.value:
        handles = (c_void_p * count.value)()
        if ask(*of, count, handles, None) == 0:
            yield from filter(None, handles)


def _device(library: CDLL, platform: str, device: int) -> dict[str, Any]:
    kind = _number(library, device, TYPE, c_uint64)
    return {
        "name": _text(library.clGetDeviceInfo, device, NAME),
        "kind": "gpu" if kind & OF_GPU else "cpu" if kind & OF_CPU else "accelerator",
        "driver": f"{platform} {_text(library.clGetDeviceInfo, device, DRIVER)}",
        "memory_bytes": _number(library, device, MEMORY, c_uint64),
        "compute_units": _number(library, device, COMPUTE_UNITS, c_uint32),
        "pci_address": _pci_address(library, device),
    }


def _text(ask: Callable[..., int], of: int, what: int) -> str:
    length = c_size_t()
    if ask(c_void_p(of), c_uint32(what), c_size_t(0), None, byref(length)) != 0:
        return ""
    text = create_string_buffer(length.value)
    ask(c_void_p(of), c_uint32(what), length, text, None)
    return text.value.decode(errors="replace")


def _number(library: CDLL, device: int, what: int, kind: type[Number]) -> int:
    """Return a number; 0 if the driver does not know the query."""
    number = kind()
    size = c_size_t(8 if kind is c_uint64 else 4)
    asked = library.clGetDeviceInfo(c_void_p(device), c_uint32(what), size, byref(number), None)
    return number.value if asked == 0 else 0


def _pci_address(library: CDLL, device: int) -> str:
    extensions = _text(library.clGetDeviceInfo, device, EXTENSIONS).split()
    place = (c_uint32 * 4)()
    if "cl_khr_pci_bus_info" in extensions:
        library.clGetDeviceInfo(c_void_p(device), c_uint32(PCI_BUS), c_size_t(16), place, None)
    elif "cl_nv_device_attribute_query" in extensions:
        place[0] = _number(library, device, PCI_DOMAIN_NVIDIA, c_uint32)
        place[1] = _number(library, device, PCI_BUS_NVIDIA, c_uint32)
        place[2], place[3] = divmod(_number(library, device, PCI_SLOT_NVIDIA, c_uint32), 8)
    else:
        return ""
    return "{:04x}:{:02x}:{:02x}.{:x}".format(*place)


if __name__ == "__main__":
    json.dump(_all(), sys.stdout)
