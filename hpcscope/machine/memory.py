"""The memory that this host and its control groups leave to this process.

The native program counts in the same way (`measure/src/memory/available.cpp`).
"""

import re
from pathlib import Path

from hpcscope.machine.control_groups import ControlGroup, control_groups
from hpcscope.machine.kernel_files import text_of


def available_bytes(root: Path = Path("/")) -> float:
    """Return the memory available without swapping, within the limits of control groups; infinite if unknown."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text_of(root / "proc/meminfo"), re.MULTILINE)
    host = float(match[1]) * 1024 if match else float("inf")
    return min([host, *map(_left_in, control_groups("memory", root))])


def _left_in(group: ControlGroup) -> float:
    """Return what a control group's limit leaves; inactive file pages, which can be reclaimed, count as free."""
    second = group.version == 2
    limit = text_of(group.folder / ("memory.max" if second else "memory.limit_in_bytes")).strip()
    if not limit.isdigit():
        return float("inf")  # "max"
    used = text_of(group.folder / ("memory.current" if second else "memory.usage_in_bytes")).strip()
    name = "inactive_file" if second else "total_inactive_file"
    idle = re.search(rf"^{name} (\d+)$", text_of(group.folder / "memory.stat"), re.MULTILINE)
    in_use = max(0, int(used or 0) - (int(idle[1]) if idle else 0))
    return float(max(0, int(limit) - in_use))
