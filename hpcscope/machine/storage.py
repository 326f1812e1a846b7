"""The folder of the storage benchmarks and its file system, as this host sees it."""

import os
import re
from pathlib import Path

from hpcscope.machine.kernel_files import text_of
from hpcscope.strict import Strict

MOUNTS = Path("/proc/self/mountinfo")


class StorageFolder(Strict):
    """A folder and the file system that it is on."""

    folder: str
    file_system: str
    """`ext4`, `nfs4`, `lustre`, ...; empty if the kernel does not say."""
    source: str
    """What is mounted: a device, or a server and its export."""
    mount_point: str
    mount_options: str
    block_bytes: int
    """The transfer size that the file system prefers."""
    total_bytes: int
    free_bytes: int
    """Bytes free for this user, before the run: volatile."""


def storage_folder(folder: Path, mounts: str | None = None) -> StorageFolder:
    """Return the facts of an existing folder; `mounts`: the content of /proc/self/mountinfo.

    Raises OSError if the folder does not exist.
    """
    place = folder.resolve(strict=True)
    facts = os.statvfs(place)
    file_system, source, point, options = _mount_of(place, text_of(MOUNTS) if mounts is None else mounts)
    return StorageFolder(
        folder=str(place),
        file_system=file_system,
        source=source,
        mount_point=point,
        mount_options=options,
        block_bytes=facts.f_bsize,
        total_bytes=facts.f_blocks * facts.f_frsize,
        free_bytes=facts.f_bavail * facts.f_frsize,
    )


def _mount_of(place: Path, mounts: str) -> tuple[str, str, str, str]:
    """Return type, source, mount point and options of the mount for a path: the last with the longest prefix."""
    mount = ("", "", "", "")
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, more = before.split(), after.split()
        if len(fields) < 6 or len(more) < 3:
            continue
        point = _unescaped(fields[4])
        if place.is_relative_to(point) and len(point) >= len(mount[2]):
            options = dict.fromkeys([*fields[5].split(","), *more[2].split(",")])
            mount = (more[0], _unescaped(more[1]), point, ",".join(options))
    return mount


def _unescaped(word: str) -> str:
    r"""Return a word from the kernel with its octal escapes (`\040`) replaced by blanks and the like."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
