"""File systems of labs for real: what programs read and write, faults of servers and disks, and nothing left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import description, emulation, faults, folder, storage
from hpcscope.lab.description import Lab
from hpcscope.lab.entry import Emulation
from tests.cli.scope_command import answered
from tests.lab.small_lab import WITHOUT_RIGHTS, on_the_wire, refuse_without_namespaces
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

FILES = """
[[group]]
name = "node"
hosts = 2
rate_mbit_per_s = 1000
[[group]]
name = "server"
hosts = 4
ranks_per_host = 0
switch = "node"
rate_mbit_per_s = 1000
[storage]
kind = "glusterfs"
servers = "server"
copies = 2
disk_mb = 64
"""
LOCAL = """
[[group]]
name = "a"
hosts = 2
rate_mbit_per_s = 50
[storage]
kind = "local"
disk_mb = 32
"""
WRITER = """
import os, sys
with open(sys.argv[1], "wb", buffering=0) as file:
    for number in range(100_000):
        try:
            file.write(bytes(4096))
            os.fsync(file.fileno())
        except OSError as error:
            sys.exit(f"{number} {error.strerror}")
        print(number, flush=True)
        sys.stdin.readline()
"""


def lab_file(place: Path, text: str) -> str:
    file = place / f"{place.name.strip('0123456789')}{os.getpid()}.toml"
    file.write_text(text)
    return str(file)


def refuse_without_storage(lab: Lab) -> None:
    refuse_without_namespaces()
    if reason := storage.refusal(lab, emulation.needs_user_namespace()):
        pytest.skip(reason)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulation]:
    name, lab = description.read(lab_file(tmp_path_factory.mktemp("files"), FILES))
    refuse_without_storage(lab)
    with emulation.temporary(name, lab) as up:
        yield up


@pytest.fixture
def healthy(files: Emulation) -> Iterator[Emulation]:
    """The lab, mended after the test."""
    yield files
    faults.clear(Emulation(files.folder, emulation.find(files.state.name).state))  # type: ignore[union-attr]


def mounts_below(place: Path) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {place}" in line]


def loops_of(place: Path) -> list[str]:
    said = subprocess.run(["/usr/sbin/losetup", "--all"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if f"({place}/" in line]


def keepers(lab: Emulation, name: str) -> list[str]:
    """Return the servers that have a file of this name on their disks."""
    at = {
        host: storage._disk_mount(lab, host) / storage.BRICK / name
        for host in storage.disks(lab.state.description)
    }
    return [host for host, path in at.items() if lab.run(host, ["test", "-s", str(path)]).returncode == 0]


def test_every_client_reads_what_one_wrote_over_the_wire(files: Emulation) -> None:
    before = on_the_wire(files, "node1", "tx")
    numbers = "seq 200000 > numbers && sync numbers && seq 200000 | md5sum"
    write = f'cd "$SCOPE_STORAGE" && df --output=fstype . && {numbers}'
    kind, digest = files.run("node1", ["sh", "-c", write]).stdout.splitlines()[1:]
    assert kind == "fuse.glusterfs"
    read = files.run("node2", ["sh", "-c", 'md5sum < "$SCOPE_STORAGE/numbers"'])
    assert read.stdout.strip() == digest, read.stderr
    assert on_the_wire(files, "node1", "tx") - before > 2 * 1_288_895, "two copies cross the port of their writer"
    assert len(keepers(files, "numbers")) == 2
    assert {"GlusterFS", "64", "server", "2"} <= set(re.findall(r"\w+", files.state.facts().storage))


def test_files_are_distributed_over_both_sets_of_servers(files: Emulation) -> None:
    write = 'cd "$SCOPE_STORAGE" && for number in $(seq 20); do echo $number > part$number; done'
    assert files.run("node2", ["sh", "-c", write]).returncode == 0
    sets = {tuple(keepers(files, f"part{number}")) for number in range(1, 21)}
    assert sets == {("server1", "server2"), ("server3", "server4")}


def test_a_host_sees_at_once_how_far_another_has_extended_a_file(files: Emulation) -> None:
    path = str(files.folder / "storage" / "grown")
    read = ["sh", "-c", 'for turn in 1 2 3; do read go; wc -c < "$0"; done', path]
    assert files.run("node1", ["sh", "-c", 'printf 1234 > "$0"', path]).returncode == 0
    reader = subprocess.Popen(
        files.command(read, "node2"),
        env=files.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    sizes = []
    for _turn in ("first", "second", "third"):
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write("go\n")
        reader.stdin.flush()
        sizes.append(reader.stdout.readline().strip())
        assert files.run("node1", ["sh", "-c", 'printf 1234 >> "$0"', path]).returncode == 0
    reader.communicate(timeout=PATIENCE_S)
    assert sizes == ["4", "8", "12"]


def test_the_file_system_is_the_labs_alone(files: Emulation) -> None:
    assert mounts_below(files.folder) == []
    assert list((files.folder / "storage").iterdir()) == []
    assert len(loops_of(files.folder)) == 4
    assert all("(deleted)" in line for line in loops_of(files.folder)), "the images go with their devices"
    assert files.run("server1", ["ls", str(files.folder / "storage")]).stdout == ""


def test_a_server_that_dies_during_a_write_is_replaced_by_its_copy_and_two_are_not(healthy: Emulation) -> None:
    path = healthy.folder / "storage" / "growing"
    writer = subprocess.Popen(
        healthy.command([sys.executable, "-c", WRITER, str(path)], "node1"),
        env=healthy.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None

    def wrote() -> str:
        assert writer.stdin is not None
        assert writer.stdout is not None
        said = writer.stdout.readline()
        if said:
            writer.stdin.write("\n")
            writer.stdin.flush()
        return said

    assert wrote() == "0\n"
    one, other = keepers(healthy, "growing")
    lab = faults.dead_server(healthy, one)
    assert [wrote(), wrote(), wrote()] == ["1\n", "2\n", "3\n"], "the other copy serves"
    with pytest.raises(UsageError, match=f"{one}: .*dead"):
        faults.dead_server(lab, one)
    lab = faults.dead_server(lab, other)
    while wrote():
        pass
    _, said = writer.communicate(timeout=PATIENCE_S)
    assert writer.returncode == 1
    assert re.fullmatch(r"\d+ (Transport endpoint is not connected|Input/output error)", said.strip()), said
    assert [(fault.where, fault.kind) for fault in lab.state.faults] == [
        (one, "dead-server"),
        (other, "dead-server"),
    ]
    dead = {space.host for space in storage.spaces(lab) if space.server is False}
    assert dead == {one, other}
    mended = faults.clear(lab)
    size = mended.run("node2", ["stat", "-c", "%s", str(path)])
    assert int(size.stdout) >= 4 * 4096, size.stderr


def test_a_full_disk_refuses_what_does_not_fit(healthy: Emulation) -> None:
    path = healthy.folder / "storage" / "filling"
    assert healthy.run("node1", ["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=1"]).returncode == 0
    lab = healthy
    for host in keepers(healthy, "filling"):
        lab = faults.full_disk(lab, host)
    grow = ["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=8", "conv=fsync,notrunc"]
    refused = lab.run("node1", grow)
    assert refused.returncode != 0
    assert "No space left on device" in refused.stderr
    mended = faults.clear(lab)
    done = mended.run("node1", grow)
    assert done.returncode == 0, done.stderr


def test_a_lab_killed_in_any_state_leaves_nothing(tmp_path: Path) -> None:
    file = lab_file(tmp_path, LOCAL)
    name, lab = description.read(file)
    refuse_without_storage(lab)
    up = emulation.up(name, lab)
    try:
        write = 'df --output=fstype "$SCOPE_STORAGE" && echo a1 > "$SCOPE_STORAGE/x"'
        assert up.run("a1", ["sh", "-c", write]).stdout.split() == ["Type", "ext4"]
        assert up.run("a2", ["ls", "-A", str(up.folder / "storage")]).stdout == "lost+found\n", "each has its own"
        assert len(loops_of(up.folder)) == 2
        with pytest.raises(UsageError, match=r"host a1: .*\bnone\b"):
            faults.dead_server(up, "a1")
        limits = storage.THROTTLE / "blkio.throttle.write_bps_device"
        if not storage._unthrottled():
            device = up.run("a2", ["stat", "-c", "%Hd:%Ld", str(up.folder / "storage")]).stdout.strip()
            others = storage._limit(device, "write")
            limits.write_text(f"{device} 300000000\n")
            before = limits.read_text()
            slowed = faults.slow_disk(up, "a2", 5)
            (slow,) = slowed.state.faults
            assert (slow.where, slow.kind, slow.value) == ("a2", "slow-disk", 5)
            (added,) = set(limits.read_text().splitlines()) - set(before.splitlines())
            assert added.endswith(" 5000000")
        os.kill(up.state.holder, signal.SIGKILL)
        until(lambda: not loops_of(up.folder) and not folder.holders(name), "the lab has ended with its disks")
        assert emulation.find(name) is None
        assert not up.folder.exists()
        if not storage._unthrottled():
            assert limits.read_text() == before, "a limit that was there before the lab is there after it"
            limits.write_text(f"{device} {others}\n")
    finally:
        if folder.holders(name):
            emulation.down(name)


def test_a_start_that_fails_leaves_nothing_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, lab = description.read(lab_file(tmp_path, LOCAL))
    refuse_without_storage(lab)
    broken = tmp_path / "mkfs.ext4"
    broken.write_text(
        "#!/bin/sh\n[ $(hostname) != a2 ] || { echo 'no disk today' >&2; exit 1; }\n"
        'exec /usr/sbin/mkfs.ext4 "$@"\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ScopeError, match=f"lab {name}: .*a2: no disk today"):
        emulation.up(name, lab)
    assert not folder.folder_of(name).exists()
    assert loops_of(folder.folder_of(name)) == []


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    _, lab = description.read("storage")
    monkeypatch.setattr(storage, "SUPERUSER_FOLDERS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert storage.refusal(lab, rootless=False).startswith("glusterfsd: ")
    assert "glusterfs-server" in storage.refusal(lab, rootless=False)
    assert mentions(storage.refusal(lab, rootless=True), "storage: ... root")
    assert storage.refusal(lab.model_copy(update={"storage": None}), rootless=True) == ""


def test_without_rights_a_lab_with_storage_is_refused(tmp_path: Path) -> None:
    refuse_without_namespaces()
    rights = WITHOUT_RIGHTS if os.geteuid() == 0 else []
    done = subprocess.run(
        [*rights, sys.executable, "-m", "hpcscope", "lab", "up", lab_file(tmp_path, LOCAL)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert mentions(done.stderr, "scope lab: storage: ... root")
    assert done.stderr.count("\n") == 1


def test_the_space_of_a_lab_without_storage_is_refused(tmp_path: Path) -> None:
    _, lab = description.read("o2")
    state = {"name": "x", "holder": 1, "holder_started": 1, "holder_network": 1, "rootless": False}
    state |= {"hosts": [], "remote_shell": "", "description": lab.model_dump()}
    up = Emulation(tmp_path, emulation.ActiveLab.model_validate(state))
    with pytest.raises(UsageError, match=r"lab x: .*\[storage\]"):
        storage.spaces(up)


def test_options_of_faults_are_checked(tmp_path: Path) -> None:
    refused = answered(tmp_path, "lab", "fault", "nothing", "--host", "a1", "--server-dead")
    assert refused.refusal().startswith("scope lab: lab nothing: ")
    assert " grid, " in refused.refusal()
