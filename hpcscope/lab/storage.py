"""The file system of a lab: GlusterFS with servers and clients on its hosts, or a disk of each host's own.

Disks are images on loop devices. The kernel detaches them with the mount namespace of their host; the images are
unlinked once they are mounted. A server is one `glusterfsd`, a client one `glusterfs` on the FUSE mount. Both read
the graphs of translators that `glusterd` generates for a volume with default options; `glusterd` itself would need
folders and sockets of the whole machine.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab.description import Lab, Storage
from hpcscope.lab.entry import Emulation

DISKS = "disks"
BRICK = "brick"
FILLER = "filler"
THROTTLED = "throttled-devices"
PORT = 24_007
NEEDED = {
    "glusterfs": {
        "glusterfsd": "glusterfs-server",
        "glusterfs": "glusterfs-client",
        "mkfs.ext4": "e2fsprogs",
        "losetup": "mount",
    },
    "local": {"mkfs.ext4": "e2fsprogs", "losetup": "mount"},
}
SUPERUSER_FOLDERS = "/usr/sbin:/sbin"
THROTTLE = Path("/sys/fs/cgroup/blkio")
"""The version 1 controller, whose root limits a device even when the kernel writes pages back later."""
DIRECTIONS = ("read", "write")
TIMEOUT_S = 30.0
SLACK_BYTES = 2_000_000
FILL = """fallocate -l "$2" "$1"
! dd if=/dev/zero of="$1" bs=4096 oflag=append conv=notrunc 2>/dev/null
"""
"""Allocate nearly all space, which writes nothing, then write until nothing is left."""

DISK = """set -e
truncate -s "$1M" "$2/image"
mkfs.ext4 -q -F -E nodiscard -m 0 "$2/image"
mount -o loop "$2/image" "$2/disk"
rm "$2/image"
stat -c '%Hd:%Ld' "$2/disk"
"""
"""Make a disk of $1 MB in the folder $2 and print its device; the loop device is released with the mount."""
SERVER = """mkdir -p "$1/disk/$2/.glusterfs"
glusterfsd -f "$1/server.vol" -l "$1/server.log" -p "$1/server.pid" && exit
grep -m1 ' E ' "$1/server.log" >&2
exit 1
"""
CLIENT = """glusterfs --attribute-timeout=0 --entry-timeout=0 --fopen-keep-cache=false -f "$1" -l "$2" "$3" && exit
grep -m1 ' E ' "$2" >&2
exit 1
"""
"""Mount a client's graph. Opening a file drops its cached pages, as with NFS: some might be stale."""
CONNECTED = """graph=$1/.meta/graphs/active
shift
for number in "$@"; do
  until grep -qs '^connected = 1' "$graph/files-client-$number/private"; do sleep 0.02; done
done
"""
"""Wait until a client is connected to the servers; it tries again every three seconds."""


class Space(NamedTuple):
    """A file system as one host sees it."""

    host: str
    what: str
    """mount or disk."""
    total_bytes: int
    available_bytes: int
    server: bool | None
    """Whether the server of the disk is alive; None for a mount."""


def refusal(lab: Lab, rootless: bool) -> str:
    """Return why the file system of a lab cannot be made here; empty if it can."""
    if lab.storage is None:
        return ""
    if rootless:
        return "storage: needs root, for loop devices and trusted.* attributes"
    for tool, package in NEEDED[lab.storage.kind].items():
        if _found(tool) is None:
            return f"{tool}: not found; the storage of this lab needs it (Debian package {package})"
    device = "/dev/fuse" if lab.storage.kind == "glusterfs" else "/dev/loop-control"
    if not Path(device).exists():
        return f"{device}: not found; the storage of this lab needs it"
    return _unthrottled() if lab.storage.disk_mb_per_s else ""


def bring_up(emulation: Emulation) -> None:
    """Make the disks, start the servers, and mount the file system on every host with ranks."""
    lab, storage = emulation.state.description, emulation.state.description.storage
    if storage is None:
        return
    mount = _mount(emulation)
    mount.mkdir()
    for host in disks(lab):
        _make_disk(emulation, storage, host)
    if storage.kind == "local":
        return
    for host in disks(lab):
        (_disk(emulation, host) / "server.vol").write_text(server_graph(_disk_mount(emulation, host) / BRICK))
        start_server(emulation, host)
    graph = emulation.folder / "client.vol"
    servers = disks(lab)
    graph.write_text(client_graph([f"d-{host}" for host in servers], storage.copies))
    for host in _clients(lab):
        _said(emulation, host, CLIENT, str(graph), str(emulation.folder / f"client-{host}.log"), str(mount))
    _await_connections(emulation)


def disks(lab: Lab) -> list[str]:
    """Return the hosts with a disk: the servers or, with local disks, the hosts with ranks."""
    storage = lab.storage
    if storage is None:
        return []
    if storage.kind == "local":
        return _clients(lab)
    return [host.name for host in lab.hosts() if host.group == storage.servers]


def spaces(emulation: Emulation) -> list[Space]:
    """Return the space on every disk and as every client sees it; a mount that does not answer has none."""
    lab, storage = emulation.state.description, emulation.state.description.storage
    if storage is None:
        raise UsageError(f"lab {emulation.state.name}: has no storage; a [storage] table in its file declares one")
    found = []
    if storage.kind == "glusterfs":
        for host in disks(lab):
            total, available = _space(emulation, host, _disk(emulation, host) / "disk")
            found.append(Space(host, "disk", total, available, server_lives(emulation, host)))
    for host in _clients(lab):
        found.append(Space(host, "mount", *_space(emulation, host, _mount(emulation)), None))
    return found


def start_server(emulation: Emulation, host: str) -> None:
    """Start the server of a host; ScopeError with its last output if it does not start."""
    _said(emulation, host, SERVER, str(_disk(emulation, host)), BRICK)


def restart_server(emulation: Emulation, host: str) -> None:
    """Start the server of a host again and wait until every client has found it."""
    start_server(emulation, host)
    _await_connections(emulation)


def kill_server(emulation: Emulation, host: str) -> None:
    """Kill the server of a host as a crash would."""
    _said(emulation, host, 'kill -KILL "$(cat "$1/server.pid")"', str(_disk(emulation, host)))


def server_lives(emulation: Emulation, host: str) -> bool:
    """Return whether the server of a host runs."""
    words = ["sh", "-c", 'kill -0 "$(cat "$1/server.pid")"', "sh", str(_disk(emulation, host))]
    return emulation.run(host, words).returncode == 0


def fill_disk(emulation: Emulation, host: str) -> None:
    """Leave no space on the disk of a host."""
    _, available = _space(emulation, host, _disk_mount(emulation, host))
    most = max(available - SLACK_BYTES, 1)
    _said(emulation, host, FILL, str(_disk_mount(emulation, host) / FILLER), str(most))


def empty_disk(emulation: Emulation, host: str) -> None:
    """Free the space that `fill_disk` took."""
    _said(emulation, host, 'rm -f "$1"', str(_disk_mount(emulation, host) / FILLER))


def throttle_disk(emulation: Emulation, host: str, mb_per_s: float) -> None:
    """Limit the rate of the disk of a host in both directions; 0: restore the limit from before the lab."""
    if reason := _unthrottled():
        raise UsageError(reason)
    device = _said(emulation, host, "stat -c '%Hd:%Ld' \"$1\"", str(_disk_mount(emulation, host))).strip()
    noted = emulation.folder / THROTTLED
    if device not in _before(noted):
        with noted.open("a") as file:
            file.write(f"{device} {' '.join(_limit(device, direction) for direction in DIRECTIONS)}\n")
    _set_limits(device, [f"{mb_per_s * 1e6:.0f}"] * 2 if mb_per_s else _before(noted)[device])


def release(folder: Path) -> None:
    """Restore the former limits of the devices of an ended lab: the kernel keeps limits by device number."""
    for device, limits in _before(folder / THROTTLED).items():
        _set_limits(device, limits)


def refuse_without_disk(emulation: Emulation, host: str, server: bool = False) -> None:
    """Raise UsageError if a host has no disk, or (for `server`) no server."""
    storage = emulation.state.description.storage
    hosts = disks(emulation.state.description) if storage and (storage.kind == "glusterfs" or not server) else []
    if host not in hosts:
        allowed = ", ".join(hosts) or "none in this lab"
        what = "storage server" if server else "disk"
        raise UsageError(f"lab {emulation.state.name}: host {host}: must have a {what}; hosts with one: {allowed}")


def server_graph(brick: Path) -> str:
    """Return the translators of a server, as `glusterd` generates them without those that are off by default."""
    watched = ["xattrop-dirty-watchlist trusted.afr.dirty", "xattrop-pending-watchlist trusted.afr.files-"]
    layers = [
        ("storage/posix", [f'directory "{brick}"']),
        ("features/access-control", []),
        ("features/locks", []),
        ("features/upcall", ["cache-invalidation off"]),
        ("performance/io-threads", []),
        ("features/index", [f'index-base "{brick}/.glusterfs/indices"', *watched]),
        ("debug/io-stats", ["unique-id brick", "log-level WARNING"]),
    ]
    text, top = _stack("brick", layers, ())
    listening = ["transport-type tcp", "transport.address-family inet", f"transport.socket.listen-port {PORT}"]
    return text + _translator("server", "protocol/server", [*listening, f"auth.addr.{top}.allow *"], [top])


def client_graph(servers: Sequence[str], copies: int) -> str:
    """Return the translators of a client, as `glusterd` generates them without two caches.

    The caches of attributes and of small files remember the size of a file for a second: processes that share a
    file would read it too short. Files are distributed over sets of servers; each server of a set has a copy.
    """
    text = ""
    names = [f"files-client-{number}" for number in range(len(servers))]
    for name, server in zip(names, servers, strict=True):
        options = ["transport-type tcp", "transport.address-family inet", f"remote-port {PORT}", "ping-timeout 42"]
        options += [f"remote-host {server}", "remote-subvolume brick-io-stats", "send-gids true"]
        text += _translator(name, "protocol/client", options)
    if copies > 1:
        sets = [names[start : start + copies] for start in range(0, len(names), copies)]
        names = [f"files-replicate-{number}" for number in range(len(sets))]
        for name, members in zip(names, sets, strict=True):
            text += _translator(name, "cluster/replicate", [f"afr-pending-xattr {','.join(members)}"], members)
    text += _translator("files-dht", "cluster/distribute", [], names)
    layers: list[tuple[str, list[str]]] = [
        ("features/utime", ["noatime on"]),
        ("performance/write-behind", []),
        ("performance/open-behind", []),
        ("debug/io-stats", ["log-level WARNING"]),
    ]
    return text + _stack("files", layers, ("files-dht",))[0]


def _stack(stem: str, layers: Iterable[tuple[str, list[str]]], below: tuple[str, ...]) -> tuple[str, str]:
    """Return translators stacked one on the other, and the name of the top one."""
    text = ""
    for kind, options in layers:
        name = f"{stem}-{kind.partition('/')[2]}"
        text += _translator(name, kind, options, below)
        below = (name,)
    return text, below[0]


def _translator(name: str, kind: str, options: Sequence[str], below: Sequence[str] = ()) -> str:
    lines = [f"volume {name}", f"    type {kind}", *(f"    option {option}" for option in options)]
    lines += [f"    subvolumes {' '.join(below)}"] if below else []
    return "\n".join([*lines, "end-volume", "", ""])


def _make_disk(emulation: Emulation, storage: Storage, host: str) -> None:
    here = _disk(emulation, host)
    (here / "disk").mkdir(parents=True)
    _said(emulation, host, DISK, str(storage.disk_mb), str(here))
    if storage.kind == "local":
        _said(emulation, host, 'mount --bind "$1" "$2"', str(here / "disk"), str(_mount(emulation)))
    if storage.disk_mb_per_s:
        throttle_disk(emulation, host, storage.disk_mb_per_s)


def _mount(emulation: Emulation) -> Path:
    assert emulation.storage is not None
    return emulation.storage


def _await_connections(emulation: Emulation) -> None:
    """Wait until every client is connected to every server that is alive."""
    servers = disks(emulation.state.description)
    alive = [str(number) for number, host in enumerate(servers) if server_lives(emulation, host)]
    for host in _clients(emulation.state.description):
        _said(emulation, host, CONNECTED, str(_mount(emulation)), *alive)


def _clients(lab: Lab) -> list[str]:
    return [host.name for host in lab.hosts() if host.slots]


def _disk(emulation: Emulation, host: str) -> Path:
    return emulation.folder / DISKS / host


def _disk_mount(emulation: Emulation, host: str) -> Path:
    return _disk(emulation, host) / "disk"


def _space(emulation: Emulation, host: str, path: Path) -> tuple[int, int]:
    """Return the total and the available bytes of a file system; (0, 0) if it does not answer."""
    answer = emulation.run(host, ["timeout", "5", "stat", "-f", "-c", "%S %b %a", str(path)])
    if answer.returncode != 0:
        return 0, 0
    block, total, available = map(int, answer.stdout.split())
    return block * total, block * available


def _said(emulation: Emulation, host: str, script: str, *words: str) -> str:
    """Run a script on a host and return its output; ScopeError with its error message."""
    path = f'PATH="$PATH:{SUPERUSER_FOLDERS}"\n'
    answer = emulation.run(host, ["timeout", f"{TIMEOUT_S:.0f}", "sh", "-c", path + script, "sh", *words])
    if answer.returncode != 0:
        silent = "took too long" if answer.returncode == 124 else "no reason given"
        said = (answer.stderr or answer.stdout).strip().splitlines() or [silent]
        raise ScopeError(f"lab {emulation.state.name}: storage of {host}: {said[-1]}")
    return answer.stdout


def _found(tool: str) -> str | None:
    return shutil.which(tool) or shutil.which(tool, path=SUPERUSER_FOLDERS)


def _unthrottled() -> str:
    """Return why disks cannot be limited here; empty if they can."""
    if os.access(_limits_file("write"), os.W_OK):
        return ""
    return f"{_limits_file('write')}: cannot be written; disk_mb_per_s and --disk-rate need cgroups of version 1"


def _limits_file(direction: str) -> Path:
    return THROTTLE / f"blkio.throttle.{direction}_bps_device"


def _before(noted: Path) -> dict[str, list[str]]:
    """Return the limits that devices had before the lab limited them, in bytes/s; 0: none."""
    lines = [line.split() for line in noted.read_text().splitlines()] if noted.is_file() else []
    return {device: limits for device, *limits in lines}


def _limit(device: str, direction: str) -> str:
    return dict(line.split() for line in _limits_file(direction).read_text().splitlines()).get(device, "0")


def _set_limits(device: str, limits: Sequence[str]) -> None:
    for direction, limit in zip(DIRECTIONS, limits, strict=True):
        try:
            _limits_file(direction).write_text(f"{device} {limit}\n")
        except OSError as error:
            raise ScopeError(f"{_limits_file(direction)}: {device}: {error.strerror}") from error
