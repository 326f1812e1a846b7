"""The control groups of this process, versions 1 and 2: limits of containers and batch jobs."""

from pathlib import Path
from typing import NamedTuple

from hpcscope.machine.kernel_files import text_of


class ControlGroup(NamedTuple):
    """One group and its version; the versions name their files differently."""

    folder: Path
    version: int


def control_groups(controller: str, root: Path) -> list[ControlGroup]:
    """Return the group of this process for a controller such as `memory`, and its parents.

    Inside a container the group itself may lie outside the mounted part. `root`: where /proc and /sys are mounted.
    """
    groups = []
    for line in text_of(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        named = controller in controllers.split(",")
        if controllers == "" or named:
            mount = root / "sys/fs/cgroup" / (controller if named else "")
            path = mount / group.lstrip("/")
            folders = [path, *(parent for parent in path.parents if parent.is_relative_to(mount))]
            groups += [ControlGroup(folder, 1 if named else 2) for folder in folders]
    return groups
