"""Checks of this host for measuring, each with advice."""

import os
import resource
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcscope.machine import device_libraries, memory_copies, minimum_configuration
from hpcscope.machine.discover import steering_environment
from hpcscope.machine.kernel_files import text_of
from hpcscope.machine.machine import Host

STEADY_GOVERNORS = {"", "performance"}
FREE_BYTES = 200e6
"""Free disk space: a standard run with its report needs much less."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    """Advice; empty if all is well."""
    needed: bool = False
    """Whether nothing can be measured without it."""


def check(host: Host, folder: Path) -> Iterator[Check]:
    """Yield the checks that matter for a measurement on `host` with its results in `folder`."""
    yield from _processors(host)
    yield _minimum_configuration(host)
    yield _clock(host)
    yield _governor(host)
    yield _run_queue(host)
    if any(link.kind == "infiniband" for link in host.links):
        yield _memory_lock()
    yield from _devices(host)
    yield _copy_between_processes()
    yield _environment()
    yield _disk(folder)
    for name, purpose in (("ssh", "several hosts"), ("chromium", "the tests of the report")):
        yield _optional_tool(name, purpose)


def _processors(host: Host) -> Iterator[Check]:
    processor = host.processor
    usable = host.processor.usable_cores
    found = f"{usable} of {processor.cores} cores usable, {processor.threads} threads, {processor.model}"
    advice = "" if usable > 1 else "ranks must share one core: only correctness can be checked, not performance"
    yield Check("cores", usable > 1, found, advice)
    if processor.quota_processors is not None:
        advice = "a control group stops processes in the middle of a measurement; ask for whole cores"
        yield Check("processor quota", False, f"{processor.quota_processors:g} processors", advice)
    if processor.threads > processor.cores:
        advice = "bind ranks to cores (--binding core), so that no two ranks share one"
        yield Check("hardware threads", True, f"{processor.threads_per_core} per core", advice)


def _minimum_configuration(host: Host) -> Check:
    lacks = minimum_configuration.lacks([host], host.processor.usable_cores)
    found = ", ".join(lack.words for lack in lacks) or "met"
    advice = "baseline cases that need more cores are left out; --hosts adds hosts" if lacks else ""
    return Check("minimum configuration", True, found, advice)


def _clock(host: Host) -> Check:
    source = text_of(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")) or "unknown"
    steady = {"constant_tsc", "nonstop_tsc"} <= set(host.processor.flags)
    if host.processor.architecture != "x86_64":
        return Check("clock", True, f"kernel clock {source}; measurements use the processor's counter, if any")
    if steady:
        return Check("clock", True, f"invariant time stamp counter; kernel clock {source}")
    return Check(
        "clock", False, f"kernel clock {source}", "no invariant counter: clock_gettime is used, and costs more"
    )


def _governor(host: Host) -> Check:
    ok = host.governor in STEADY_GOVERNORS
    found = host.governor or "none shown (fixed, or set by the hypervisor)"
    return Check("frequency governor", ok, found, "" if ok else "cpupower frequency-set -g performance (as root)")


def _run_queue(host: Host) -> Check:
    queue = host.run_queue or 0.0
    ok = queue < 0.5 * max(1, len(host.processor.usable))
    advice = "" if ok else "other programs run here; wait for an idle machine"
    return Check("run queue", ok, f"{queue:g} other processes run or wait for a processor", advice)


def _memory_lock() -> Check:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    ok = soft == resource.RLIM_INFINITY or soft >= 64 * 1024**2
    found = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft} bytes"
    return Check("locked memory", ok, found, "" if ok else "InfiniBand needs more: ulimit -l unlimited")


def _devices(host: Host) -> Iterator[Check]:
    found = "; ".join(device.described for device in host.devices)
    advice = (
        "`scope run device --module standard` measures them"
        if found
        else "device.* needs the driver of a device (libcuda.so.1, or libOpenCL.so.1 with a driver)"
    )
    yield Check("devices", True, found or "none", advice)
    for library in [*device_libraries.libraries(), *device_libraries.undriven(Path("/"), host.devices)]:
        yield Check(*library)


def _copy_between_processes() -> Check:
    """Check that processes may read each other's memory, as single-copy transfers inside a host do."""
    if words := memory_copies.refusal():
        advice = "large intra-node messages fail or are slow; a container needs --cap-add SYS_PTRACE"
        return Check("CMA (process_vm_readv)", False, f"{memory_copies.CALL}: {words}", advice)
    scope_of_trace = text_of(Path("/proc/sys/kernel/yama/ptrace_scope"))
    ok = scope_of_trace in ("", "0", "1") or os.geteuid() == 0
    asked = scope_of_trace == "1" and os.geteuid() != 0
    found = "permitted if the MPI library requests it" if asked else "permitted"
    advice = "" if ok else "large intra-node messages may be copied twice"
    return Check("CMA (process_vm_readv)", ok, found if ok else f"ptrace_scope {scope_of_trace}", advice)


def _environment() -> Check:
    found = steering_environment(os.environ)
    advice = "these variables control MPI, fabrics or threads, and are recorded with the run" if found else ""
    return Check("environment variables", True, ", ".join(found) or "none", advice)


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    ok = free > FREE_BYTES
    return Check(
        "disk", ok, f"{free / 1e9:.1f} GB free in {folder}", "" if ok else "free some space, or set --output"
    )


def _optional_tool(name: str, purpose: str) -> Check:
    path = shutil.which(name)
    return Check(name, True, path or "absent", "" if path else f"only {purpose} needs it")
