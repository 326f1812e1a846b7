"""What a host is short of is named with its remedy; a healthy host lacks nothing."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.launch import shortage as shortages
from hpcscope.launch.shortage import shortage


def test_a_healthy_host_lacks_nothing() -> None:
    assert shortage(2) == ""


@pytest.mark.parametrize(
    ("limit", "found", "said"),
    [
        ("RLIMIT_FSIZE", 1 << 20, "size of a file: expected 64 MiB or more, found 1 MiB; run `ulimit -f 65536`"),
        ("RLIMIT_NOFILE", 24, "open files of a process: expected 48 or more, found 24; run `ulimit -n 48`"),
        (
            "RLIMIT_AS",
            200 << 20,
            "memory of a process: expected 1 GiB or more, found 200 MiB; run `ulimit -v 1048576`",
        ),
    ],
)
def test_a_limit_is_named_with_what_is_needed(
    limit: str, found: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = resource.getrlimit
    asked = getattr(resource, limit)
    monkeypatch.setattr(resource, "getrlimit", lambda each: (found, found) if each == asked else real(each))
    assert shortage(2) == said


def test_threads_of_other_programs_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        resource, "getrlimit", lambda each: (33, 33) if each == resource.RLIMIT_NPROC else (-1, -1)
    )
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    used = r"threads of this user: expected room for 32 more, but \d+ of 33 are in use; run `ulimit -u \d+`"
    assert re.fullmatch(used, shortage(2))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert shortage(2) == "", "the kernel does not count root's"


def test_a_folder_for_temporary_files_without_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortages, "TEMPORARY_BYTES", 1 << 20)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert shortage(2) == ""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, most))
    real = resource.getrlimit
    monkeypatch.setattr(
        resource, "getrlimit", lambda each: (-1, -1) if each == resource.RLIMIT_FSIZE else real(each)
    )
    try:
        room = "expected room for 1 MiB, found: File too large"
        assert shortage(2) == f"{tmp_path}: {room}; free some space, or set TMPDIR to another directory"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize(("room", "enough"), [("1m", False), ("64m", True)])
def test_a_small_folder_for_shared_memory_is_named(room: str, enough: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to mount a file system: root")
    python = f"{sys.executable} -c 'from hpcscope.launch.shortage import shortage; print(shortage(8))'"
    words = f"mount -t tmpfs -o size={room} tmpfs /dev/shm && exec {python}"
    said = subprocess.run(["unshare", "--mount", "sh", "-c", words], capture_output=True, text=True, check=True)
    remedy = "free some space, or enlarge /dev/shm (docker run --shm-size 1g)"
    short = f"/dev/shm: expected 48 MiB or more, found 1 MiB free of 1 MiB; {remedy}"
    assert said.stdout.strip() == ("" if enough else short)


def test_refused_copies_between_processes_are_named() -> None:
    """A filter of the kernel refuses the call, as those of containers do."""
    allowed = subprocess.run([sys.executable, "-c", SAYS], capture_output=True, text=True, check=True)
    assert allowed.stdout == "\n"
    filtered = [sys.executable, str(Path(__file__).with_name("refused_copies.py")), sys.executable, "-c", SAYS]
    refused = subprocess.run(filtered, capture_output=True, text=True, check=True)
    assert refused.stdout.startswith("process_vm_readv: Operation not permitted: ")


SAYS = "from hpcscope.launch.shortage import hindrance; print(hindrance(bus_error=False))"
