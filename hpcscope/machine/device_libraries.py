"""Libraries that drive graphics processors on this host, and cards that no library drives.

`python -m hpcscope.machine.device_libraries` prints the libraries as JSON. `scope doctor` starts it as a separate
process, since a driver may hang or crash. The native program opens the same files (`measure/src/devices/`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ctypes import CDLL, byref, c_int
from pathlib import Path
from typing import NamedTuple

from hpcscope.machine import devices
from hpcscope.machine.kernel_files import text_of
from hpcscope.machine.machine import Device

CLASSES = ("0x0302", "0x0380", "0x12")
"""Prefixes of the PCI classes of cards that compute: 3D and other controllers, accelerators."""
GRAPHICS = "0x0300"
"""The PCI class of a card with a display; such a card also computes if NVIDIA made it."""
NVIDIA = "0x10de"
VENDORS = {
    NVIDIA: ("NVIDIA", "needs the driver, which has libcuda.so.1"),
    "0x1002": ("AMD", "needs the OpenCL of ROCm (rocm-opencl-runtime)"),
    "0x8086": ("Intel", "needs Intel's compute runtime (intel-opencl-icd)"),
}
"""PCI vendors: their names, and what drives their cards."""
HIDING = "CUDA_VISIBLE_DEVICES"
PACKAGES = {"NVRTC": "cuda-nvrtc", "cuBLAS": "cublas"}
"""Python packages for CUDA libraries, after the vendor's name."""


class Library(NamedTuple):
    """A library, or a card that lacks one."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def libraries() -> list[Library]:
    """Return what the device libraries report about themselves."""
    command = [sys.executable, "-m", "hpcscope.machine.device_libraries"]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=devices.PATIENCE_S, stdin=subprocess.DEVNULL)
        return [Library(*arguments) for arguments in json.loads(ended.stdout)]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = "no answer in time" if isinstance(error, subprocess.TimeoutExpired) else "ended without an answer"
        return [Library("device libraries", False, f"CUDA or OpenCL: {why}", "nvidia-smi or clinfo may show why")]


def undriven(root: Path, known: Iterable[Device]) -> Iterator[Library]:
    """Yield the cards on the PCI bus that no library lists."""
    driven = {device.pci_address for device in known}
    for card in sorted((root / "sys/bus/pci/devices").glob("*")):
        vendor, kind = text_of(card / "vendor"), text_of(card / "class")
        computes = kind.startswith(CLASSES) or (vendor == NVIDIA and kind.startswith(GRAPHICS))
        if vendor not in VENDORS or not computes or card.name in driven:
            continue
        name, advice = VENDORS[vendor]
        hidden = vendor == NVIDIA and HIDING in os.environ
        found = f"{name}, {card.name}: " + (f"hidden by {HIDING}" if hidden else "no library drives it")
        yield Library("card", hidden, found, "" if hidden else advice)


def _all() -> Iterator[Library]:
    cuda, opencl = map(devices.library, devices.LIBRARIES)
    of_cuda, of_opencl = map(devices.file_of, devices.LIBRARIES)
    yield _cuda(cuda, of_cuda) if cuda else Library("CUDA", True, f"none ({of_cuda})")
    newest = int(devices.cuda_version(cuda).partition(".")[0]) if cuda else None
    yield from _nvrtc(newest)
    yield from _cublas(newest)
    yield _opencl(opencl, of_opencl) if opencl else Library("OpenCL", True, f"none ({of_opencl})")


def _cuda(library: CDLL, file: str) -> Library:
    count = c_int()
    found = f"{file}, CUDA {devices.cuda_version(library)}"
    if status := library.cuInit(0) or library.cuDeviceGetCount(byref(count)):
        return Library("CUDA", False, f"{found}: error {status}", "nvidia-smi says what the driver lacks")
    return Library("CUDA", True, f"{found}, {_counted(count.value)}")


def _nvrtc(newest: int | None) -> Iterator[Library]:
    """Yield the kernel compiler for a driver with this major version of CUDA; nothing if both are missing."""
    usual = [*(f"libnvrtc.so.{major}" for major in range(newest or 0, 11, -1)), "libnvrtc.so.11.2"]

    def version(library: CDLL) -> tuple[int, int]:
        major, minor = c_int(), c_int()
        library.nvrtcVersion(byref(major), byref(minor))
        return major.value, minor.value

    yield from _of_cuda("NVRTC", devices.COMPILER, usual, newest, version, "CUDA compiles no kernels")


def _cublas(newest: int | None) -> Iterator[Library]:
    """Yield the library for matrix products, in the same way."""
    usual = [f"libcublas.so.{major}" for major in range(newest or 11, 10, -1)]

    def version(library: CDLL) -> tuple[int, int]:
        parts = [c_int(), c_int()]
        for which, part in enumerate(parts):
            library.cublasGetProperty(which, byref(part))
        return parts[0].value, parts[1].value

    yield from _of_cuda("cuBLAS", devices.PRODUCTS, usual, newest, version, "no tuned matrix products")


def _of_cuda(
    name: str,
    variable: str,
    usual: list[str],
    newest: int | None,
    version: Callable[[CDLL], tuple[int, int]],
    lost: str,
) -> Iterator[Library]:
    """Yield a library, which must not be newer than the driver; nothing if both are missing."""
    named = os.environ.get(variable) or devices.variables().get(variable)
    stem = f"nvidia-{PACKAGES[name]}"
    package = f"{stem}-cu{newest}" if newest in {11, 12} else f"{stem}=={newest}.*"
    for file in [named] if named else usual:
        with suppress(OSError):
            major, minor = version(CDLL(file))
            takes = newest is None or major <= newest
            advice = "" if takes else f"the driver supports CUDA {newest} at most: pip install '{package}'"
            yield Library(name, takes, f"{file}, CUDA {major}.{minor}", advice)
            return
    if newest is not None:
        yield Library(name, False, f"none ({named or usual[0]})", f"{lost} without it: pip install '{package}'")


def _opencl(library: CDLL, file: str) -> Library:
    found = ", ".join(f"{name}, {_counted(len(handles))}" for name, handles in devices.platforms(library))
    advice = "" if found else "OpenCL drivers have files in /etc/OpenCL/vendors; pocl-opencl-icd is for CPUs"
    return Library("OpenCL", True, f"{file}: {found or 'no driver'}", advice)


def _counted(count: int) -> str:
    return f"{count} device{'' if count == 1 else 's'}"


if __name__ == "__main__":
    json.dump(list(_all()), sys.stdout)
