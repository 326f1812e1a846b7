"""Network interfaces of this host, queried from the kernel.

The `ioctl` calls apply to the network namespace of the calling process; `/sys/class/net` may not, since `/sys` may
have been mounted for another namespace. Only the standard library is used, so that a probe on every host starts
quickly.
"""

import array
import fcntl
import ipaddress
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpcscope.machine.kernel_files import text_of

SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFMTU, SIOCGIFHWADDR, SIOCETHTOOL = 0x8913, 0x8915, 0x8921, 0x8927, 0x8946
ETHTOOL_GSET, ETHTOOL_GDRVINFO = 0x00000001, 0x00000003
FLAG_UP = 0x1
UNKNOWN_SPEEDS_MBIT = {0, 0xFFFF, 0xFFFFFFFF}

HARDWARE = {1: "ethernet", 32: "infiniband", 772: "loopback", 512: "ppp", 65534: "virtual"}
"""ARPHRD_* numbers of linux/if_arp.h."""

VIRTUAL_DRIVERS = {"bridge", "dummy", "ifb", "ipvlan", "macvlan", "tap", "tun", "veth", "vxlan"}
"""Drivers without a wire; the speed that some of them report is invented."""


def links() -> list[dict[str, Any]]:
    """Return every interface of this network namespace, in the shape of `machine.Link`."""
    inet6 = _inet6_addresses()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return [_link(control, name, inet6.get(name, [])) for _, name in socket.if_nameindex()]


def infiniband(root: Path) -> list[dict[str, Any]]:
    """Return the ports of InfiniBand and RoCE adapters, which need not have a network interface."""
    ports: list[dict[str, Any]] = []
    for port in sorted((root / "sys/class/infiniband").glob("*/ports/*")):
        rate = re.match(r"([\d.]+) Gb/sec", text_of(port / "rate"))
        layer = text_of(port / "link_layer").lower()
        ports.append(
            {
                "name": f"{port.parent.parent.name}/{port.name}",
                "kind": layer if layer == "ethernet" else "infiniband",
                "rate_bits_per_s": float(rate[1]) * 1e9 if rate else None,
                "mtu_bytes": 0,
                "addresses": [],
                "driver": port.parent.parent.name.split("_")[0],
                "up": "ACTIVE" in text_of(port / "state"),
            }
        )
    return ports


def fabric_adapter_present(root: Path = Path("/")) -> bool:
    """Return whether this host has an adapter for InfiniBand, RoCE, Omni-Path, EFA or Slingshot."""
    return any(list((root / "sys/class" / kind).glob("*")) for kind in ("infiniband", "cxi"))


def _link(control: socket.socket, name: str, inet6: list[str]) -> dict[str, Any]:
    driver = _driver(control, name)
    kind = HARDWARE.get(_ask(control, name, SIOCGIFHWADDR, _unsigned_short, 1), "other")
    if driver in VIRTUAL_DRIVERS:
        kind = "virtual"
    address = _ask(control, name, SIOCGIFADDR, lambda reply: socket.inet_ntoa(reply[20:24]), "")
    return {
        "name": name,
        "kind": kind,
        "rate_bits_per_s": _rate(control, name) if kind not in ("virtual", "loopback") else None,
        "mtu_bytes": _ask(control, name, SIOCGIFMTU, lambda reply: struct.unpack_from("i", reply, 16)[0], 0),
        "addresses": [*([address] if address else []), *inet6],
        "driver": driver,
        "up": bool(_ask(control, name, SIOCGIFFLAGS, _unsigned_short, 0) & FLAG_UP),
    }


def _ask(control: socket.socket, name: str, request: int, read: Callable[[bytes], Any], absent: Any) -> Any:
    """Return the result of one `ioctl` on an interface; `absent` if the kernel has no answer."""
    try:
        return read(fcntl.ioctl(control, request, struct.pack("16s24x", name.encode()[:15])))
    except OSError:
        return absent


def _unsigned_short(reply: bytes) -> int:
    return int(struct.unpack_from("H", reply, 16)[0])


def _ethtool(control: socket.socket, name: str, command: int, size: int) -> bytes | None:
    answer = array.array("B", struct.pack("I", command) + bytes(size))
    try:
        fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", name.encode()[:15], answer.buffer_info()[0]))
    except OSError:
        return None
    return answer.tobytes()


def _rate(control: socket.socket, name: str) -> float | None:
    """Return bits per second; the speed is split into two fields of `struct ethtool_cmd`."""
    answer = _ethtool(control, name, ETHTOOL_GSET, 44)
    if answer is None:
        return None
    low, high = struct.unpack_from("H", answer, 12)[0], struct.unpack_from("H", answer, 28)[0]
    speed_mbit = low | high << 16
    return None if speed_mbit in UNKNOWN_SPEEDS_MBIT else speed_mbit * 1e6


def _driver(control: socket.socket, name: str) -> str:
    answer = _ethtool(control, name, ETHTOOL_GDRVINFO, 196)
    return answer[4:36].split(b"\0")[0].decode(errors="replace") if answer else ""


def _inet6_addresses() -> dict[str, list[str]]:
    addresses: dict[str, list[str]] = {}
    for line in text_of(Path("/proc/net/if_inet6")).splitlines():
        number, *_, name = line.split()
        addresses.setdefault(name, []).append(str(ipaddress.IPv6Address(bytes.fromhex(number))))
    return addresses
