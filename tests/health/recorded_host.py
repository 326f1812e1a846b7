"""Recorded hosts in folders: the files of /proc and /sys that the native program reads.

`recorded_machines.json` has what the kernels of real machines show, reduced to what is read, with the facts and
counters that another program found in the whole trees. `processors`: the files of each processor, by their
content; or the lists of processors whose files hold just this list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MACHINES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("recorded_machines.json").read_text(encoding="utf-8")
)
DEV = """\
Inter-| Receive | Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs ...
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0: 5000 50 {errors} 9 1 2 0 0 4000 40 3 8 0 1 2 0
veth12: 5000 50 7 0 0 0 0 0 4000 40 0 0 0 0 0 0
"""


def written(root: Path, governor: str = "performance", mtu: int = 9000, errors: int = 4) -> Path:
    """Write a host with two sockets of two cores with two threads each."""
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Example CPU @ 2.40GHz\nmicrocode\t: 0x1\n",
        "proc/meminfo": "MemTotal:       65536000 kB\nSwapTotal:       0 kB\n",
        "proc/net/dev": DEV.format(errors=errors),
        "proc/stat": "cpu  100 0 50 800 0 0 0 50 0 0\n",
        "proc/vmstat": "nr_free_pages 1\noom_kill 2\n",
        "proc/sys/kernel/osrelease": "6.1.0-test\n",
        "etc/os-release": 'NAME="Example"\nPRETTY_NAME="Example Linux 1"\n',
        "sys/class/net/eth0/mtu": f"{mtu}\n",
        "sys/class/net/eth0/operstate": "up\n",
        "sys/class/net/eth0/speed": "100000\n",
        "sys/class/net/eth0/duplex": "full\n",
        "sys/class/dmi/id/bios_version": "1.2.3\n",
        "sys/class/infiniband/mlx5_0/fw_ver": "20.1\n",
        "sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n",
        "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
        "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "6\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/cpu/smt/control": "on\n",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "sys/devices/system/edac/mc/mc0/ce_count": "3\n",
        "sys/devices/system/edac/mc/mc1/ce_count": "1\n",
        "sys/devices/system/edac/mc/mc0/ue_count": "0\n",
        "sys/devices/system/node/node0/cpulist": "0-3\n",
        "sys/devices/system/node/node1/cpulist": "4-7\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    }
    for number in range(8):
        cpu = f"sys/devices/system/cpu/cpu{number}"
        files[f"{cpu}/topology/physical_package_id"] = f"{number // 4}\n"
        files[f"{cpu}/topology/core_cpus_list"] = f"{number // 2 * 2}-{number // 2 * 2 + 1}\n"
        files[f"{cpu}/cpufreq/scaling_governor"] = f"{governor if number else 'performance'}\n"
        files[f"{cpu}/thermal_throttle/core_throttle_count"] = "2\n"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def recorded(root: Path, name: str) -> Path:
    """Write the files of a real machine."""
    machine = MACHINES[name]
    files = dict(machine["files"])
    for file, content in machine["processors"].items():
        lists = {text: text for text in content.split()} if isinstance(content, str) else content
        for text, processors in lists.items():
            for part in processors.split(","):
                first, _, last = part.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    files[f"sys/devices/system/cpu/cpu{number}/{file}"] = text
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
