"""The facts of a folder's file system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcscope.machine.storage import storage_folder

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
31 22 0:40 / {folder} rw,nosuid - nfs4 server:/export rw,vers=4.2,hard
32 22 0:41 / {folder}/with\\040blank rw - lustre 10.0.0.1@tcp:/scratch rw,flock
33 22 0:42 / {folder}er rw - tmpfs tmpfs rw
damaged
"""


def test_the_longest_mount_point_holds_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "with blank" / "runs"
    inner.mkdir(parents=True)
    mounts = MOUNTS.format(folder=tmp_path)
    outer = storage_folder(tmp_path, mounts)
    assert (outer.file_system, outer.source, outer.mount_point) == ("nfs4", "server:/export", str(tmp_path))
    assert outer.mount_options == "rw,nosuid,vers=4.2,hard"
    found = storage_folder(inner, mounts)
    assert (found.file_system, found.mount_point) == ("lustre", f"{tmp_path}/with blank")
    assert storage_folder(Path("/"), mounts).file_system == "ext4"


def test_links_are_followed_and_sizes_are_those_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    found = storage_folder(tmp_path / "link")
    facts = os.statvfs(tmp_path)
    assert found.folder == str(tmp_path)
    assert found.total_bytes == facts.f_blocks * facts.f_frsize
    assert 0 <= found.free_bytes <= found.total_bytes
    assert found.block_bytes == facts.f_bsize
    assert found.file_system


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        storage_folder(tmp_path / "gone")
