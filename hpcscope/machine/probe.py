"""Return the facts of this host, as its kernel reports them.

`python -m hpcscope.machine.probe` prints one `machine.Host` as JSON. It runs on every host through the launcher,
so it uses nothing but the standard library. A file that is absent costs one fact, never the probe.
"""

import base64
import json
import os
import re
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from hpcscope.machine import devices, links, processors
from hpcscope.machine.kernel_files import number_of, text_of

NOTEWORTHY_FLAGS = {
    *("sse2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "asimd", "sve", "sve2"),
    *("constant_tsc", "nonstop_tsc", "rdtscp", "tsc_known_freq", "hypervisor"),
}
LOOKS, LOOK_INTERVAL_S = 6, 0.01
"""How often, and at which interval, the run queue is read."""
PART_LENGTH = 700
"""Characters per line of a message in parts. Launchers split long lines and mix them with those of other hosts.
Slurm's limit is 1024, including the sender's name."""


def probe(root: Path = Path("/")) -> dict[str, Any]:
    """Describe this host in the shape of `machine.Host`, read below `root` (another root is for tests)."""
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(devices.devices, root)  # waits for a separate process
        facts = _facts(root)
        return {**facts, "devices": found.result()}


def _facts(root: Path) -> dict[str, Any]:
    return {
        "name": os.uname().nodename,
        "processor": processor(root),
        "caches": caches(root),
        "memory_bytes": memory_bytes(root),
        "numa_nodes": numa_nodes(root),
        "links": links.links() + links.infiniband(root),
        "kernel": text_of(root / "proc/sys/kernel/osrelease"),
        "operating_system": operating_system(root),
        "virtualization": virtualization(root),
        "governor": text_of(_first_cpu(root) / "cpufreq/scaling_governor"),
        "turbo": turbo(root),
        "transparent_huge_pages": transparent_huge_pages(root),
        "load": float((text_of(root / "proc/loadavg").split() or ["0"])[0]),
        "run_queue": run_queue(root),
        "microcode": _cpuinfo(root).get("microcode") or text_of(_first_cpu(root) / "microcode/version"),
        "vulnerabilities": vulnerabilities(root),
        "idle_governor": idle_governor(root),
        "idle_states": idle_states(root),
        "throttle_counts": throttle_counts(root),
        "boot_id": text_of(root / "proc/sys/kernel/random/boot_id"),
    }


def run_queue(root: Path) -> float | None:
    """Return the median number of other runnable processes over a twentieth of a second.

    The load average would still count, for a minute, processes that have ended, such as a compilation.
    """
    seen = []
    for look in range(LOOKS):
        if look:
            time.sleep(LOOK_INTERVAL_S)
        words = text_of(root / "proc/loadavg").split()
        if len(words) < 4 or not words[3].partition("/")[0].isdigit():
            return None
        seen.append(max(int(words[3].partition("/")[0]) - max(1, _runnable(root, "self")), 0))
    return float(median(seen))


def _runnable(root: Path, process: str) -> int:
    """Return how many threads of a process and its children are runnable: some may prepare what follows."""
    count = 0
    with suppress(OSError):  # it may end during the look
        for task in (root / "proc" / process / "task").iterdir():
            count += text_of(task / "stat").rpartition(")")[2].split()[:1] == ["R"]
            count += sum(_runnable(root, child) for child in text_of(task / "children").split())
    return count


def processor(root: Path) -> dict[str, Any]:
    """Return model, topology, and the processors that this process may use."""
    information = _cpuinfo(root)
    usable = sorted(os.sched_getaffinity(0))
    cpus = [cpu for cpu in (root / "sys/devices/system/cpu").glob("cpu[0-9]*") if (cpu / "topology").is_dir()]
    online = {int(cpu.name[3:]) for cpu in cpus}
    packages = {text_of(cpu / "topology/physical_package_id") for cpu in cpus}
    core_of = {number: _siblings(root, number) & online for number in online}
    threads = len(online) or text_of(root / "proc/cpuinfo").count("processor\t") or len(usable)
    flags = set((information.get("flags") or information.get("Features", "")).split())
    return {
        "model": _model(information, root),
        "architecture": os.uname().machine,
        "sockets": len(packages) or 1,
        "cores": len(set(core_of.values())) or threads,
        "threads": threads,
        "usable": usable,
        "reached_cores": len({core_of.get(number, frozenset({number})) for number in usable}),
        "quota_processors": processors.quota(root),
        "base_frequency_hz": _base_frequency_hz(root, information),
        "flags": sorted(flags & NOTEWORTHY_FLAGS),
    }


def caches(root: Path) -> list[dict[str, Any]]:
    """Return the caches that the first processor sees, nearest first."""
    found = []
    for index in sorted((_first_cpu(root) / "cache").glob("index[0-9]*")):
        size = re.match(r"(\d+)([KMG]?)", text_of(index / "size"))
        if not size:
            continue
        shared = _members(text_of(index / "shared_cpu_list"))
        cores = {_siblings(root, number) for number in shared}
        found.append(
            {
                "level": number_of(index / "level"),
                "kind": text_of(index / "type").lower() or "unified",
                "size_bytes": int(size[1]) * {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[size[2]],
                "line_bytes": number_of(index / "coherency_line_size"),
                "shared_by_cores": max(1, len(cores)),
            }
        )
    return found


def numa_nodes(root: Path) -> int:
    """Return how many NUMA nodes have memory; one if the kernel does not say."""
    said = [text_of(node / "meminfo") for node in (root / "sys/devices/system/node").glob("node[0-9]*")]
    return max(1, sum(re.search(r"MemTotal:\s+[1-9]", text) is not None for text in said))


def memory_bytes(root: Path) -> int:
    """Return the installed memory as the kernel counts it; 0 if it does not say."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", text_of(root / "proc/meminfo"), re.MULTILINE)
    return int(total[1]) * 1024 if total else 0


def operating_system(root: Path) -> str:
    """Return the distribution's own name for itself."""
    name = re.search(r'^PRETTY_NAME="?(.*?)"?$', text_of(root / "etc/os-release"), re.MULTILINE)
    return name[1] if name else ""


def virtualization(root: Path) -> str:
    """Return the container or hypervisor around this host; empty on bare metal."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    if container := text_of(root / "run/systemd/container"):
        return container
    if hypervisor := text_of(root / "sys/hypervisor/type"):
        return hypervisor
    if "hypervisor" in _cpuinfo(root).get("flags", "").split():
        return text_of(root / "sys/class/dmi/id/sys_vendor") or "virtual machine"
    return ""


def turbo(root: Path) -> bool | None:
    """Return whether the processor may exceed its base frequency; None if the kernel does not say."""
    cpu = root / "sys/devices/system/cpu"
    if no_turbo := text_of(cpu / "intel_pstate/no_turbo"):
        return no_turbo == "0"
    if boost := text_of(cpu / "cpufreq/boost"):
        return boost == "1"
    return None


def vulnerabilities(root: Path) -> dict[str, str]:
    """Return what the kernel reports about each vulnerability of the processor that it knows."""
    folder = root / "sys/devices/system/cpu/vulnerabilities"
    return {file.name: text_of(file) for file in sorted(folder.glob("*"))}


def idle_governor(root: Path) -> str:
    """Return the name of the governor of the idle states; empty if the kernel shows none."""
    folder = root / "sys/devices/system/cpu/cpuidle"
    return text_of(folder / "current_governor_ro") or text_of(folder / "current_governor")


def idle_states(root: Path) -> list[dict[str, Any]]:
    """Return the idle states of the first processor, the lightest first."""
    folders = (_first_cpu(root) / "cpuidle").glob("state[0-9]*")
    return [
        {
            "name": text_of(folder / "name"),
            "latency_s": number_of(folder / "latency") * 1e-6,
            "disabled": text_of(folder / "disable") == "1",
        }
        for folder in sorted(folders, key=lambda folder: int(folder.name.removeprefix("state")))
    ]


def throttle_counts(root: Path) -> dict[str, int]:
    """Return how often heat slowed the cores together, and the package with the most; empty if not counted."""
    counted = {}
    for what, together in (("core", sum), ("package", max)):
        files = (root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/thermal_throttle/{what}_throttle_count")
        if counts := [number_of(file) for file in files]:
            counted[what] = together(counts)
    return counted


def transparent_huge_pages(root: Path) -> str:
    """Return the selected word, as in `always [madvise] never`."""
    chosen = re.search(r"\[(\w+)\]", text_of(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    return chosen[1] if chosen else ""


def in_parts(host: dict[str, Any]) -> str:
    """Write the JSON as short numbered lines, which survive a launcher's forwarding of many hosts' output."""
    data = base64.b64encode(zlib.compress(json.dumps(host).encode())).decode()
    parts = [data[start : start + PART_LENGTH] for start in range(0, len(data), PART_LENGTH)]
    sender = f"{host['name']}:{os.getpid()}"
    return "".join(f"scope-probe {sender} {number} {len(parts)} {part}\n" for number, part in enumerate(parts))


def _cpuinfo(root: Path) -> dict[str, str]:
    """Return the first processor's paragraph of /proc/cpuinfo; POWER and ARM put shared lines at the end."""
    information: dict[str, str] = {}
    for line in text_of(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        information.setdefault(key.strip(), value.strip())
    return information


def _model(information: dict[str, str], root: Path) -> str:
    for key in ("model name", "cpu", "Model", "Hardware"):
        if information.get(key):
            return information[key]
    if "CPU part" in information:
        return f"implementer {information.get('CPU implementer', '?')} part {information['CPU part']}"
    return text_of(root / "sys/firmware/devicetree/base/model").strip("\0")


def _base_frequency_hz(root: Path, information: dict[str, str]) -> float | None:
    if base_khz := number_of(_first_cpu(root) / "cpufreq/base_frequency"):
        return base_khz * 1e3
    named = re.search(r"@ ([\d.]+)GHz", information.get("model name", ""))
    return float(named[1]) * 1e9 if named else None


def _siblings(root: Path, number: int) -> frozenset[int]:
    """Return the processors that are threads of the same core, the processor itself among them.

    Core numbers repeat between packages and between dies of a package; the kernel's lists are right. Only on AMD's
    family 15h do they hold two cores, which share parts of a module and have numbers of their own. Older kernels
    use the second name and masks (Documentation/ABI/stable/sysfs-devices-system-cpu).
    """
    cpu = root / "sys/devices/system/cpu"
    topology = cpu / f"cpu{number}/topology"
    listed = text_of(topology / "core_cpus_list") or text_of(topology / "thread_siblings_list")
    words = re.findall(r"[\da-f]+", "" if listed else text_of(topology / "thread_siblings"))
    mask = int("".join(words) or "0", 16)
    found = {number, *_members(listed), *(bit for bit in range(mask.bit_length()) if mask >> bit & 1)}
    core = text_of(topology / "core_id")
    return frozenset(sibling for sibling in found if text_of(cpu / f"cpu{sibling}/topology/core_id") in (core, ""))


def _first_cpu(root: Path) -> Path:
    return root / f"sys/devices/system/cpu/cpu{min(os.sched_getaffinity(0), default=0)}"


def _members(cpu_list: str) -> list[int]:
    """Return `0-2,5` as [0, 1, 2, 5]."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", cpu_list)
    return [member for first, last in ranges for member in range(int(first), int(last or first) + 1)]


if __name__ == "__main__":
    host = probe()
    sys.stdout.write(in_parts(host) if "--parts" in sys.argv[1:] else json.dumps(host) + "\n")
