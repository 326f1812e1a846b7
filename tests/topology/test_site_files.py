"""Files that sites have are read by their content; made-up ones of known truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.topology import drawing
from hpcscope.topology.topology import Group, read

CONF = """\
# SwitchName=old Nodes=n[90-99]
switchname=TOP Switches=s[0-1] LinkSpeed=100
SwitchName=s0 Nodes=n[01-03],login \\
  LinkSpeed=50
SwitchName=s1 Nodes=n[04-05,9]
"""
YAML = """\
---
- topology: blocks
  block:
    block_sizes:
      - 4
    blocks:
      - block: b1
        nodes: n[1-4]
- topology: tree
  cluster_default: true   # of all partitions
  tree:
    switches:
      - switch: TOP
        children: "s[0-1]"
      - nodes: n[01-03],login
        switch: s0
      - switch: s1
        nodes: n[04-05,9]
"""
BLOCKS = "BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=a3\nBlockSizes=2,4\n"
FABRIC = """\
#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#
switchguid=0x1(1)
Switch\t36 "S-01"\t\t# "leaf one" base port 0 lid 1 lmc 0
[1]\t"H-11"[1](11) \t\t# "n1 HCA-1" lid 11 4xEDR
[2]\t"H-12"[1](12) \t\t# "n2 mlx5_0" lid 12 4xEDR
[3]\t"S-10"[1]\t\t# "spine" lid 9 4xEDR
[4]\t"S-01"[5]\t\t# "leaf one" lid 1 4xEDR
[5]\t"S-01"[4]\t\t# "leaf one" lid 1 4xEDR
[41]\t"H-19"[1](19) \t\t# "Mellanox Technologies Aggregation Node" lid 19 4xEDR

Switch\t36 "S-02"\t\t# "leaf" enhanced port 0 lid 2 lmc 0
[1]\t"H-13"[1](13) \t\t# "n3 HCA-1" lid 13 4xHDR
[2]\t"H-14"[1](14) \t\t# "n1 HCA-2" lid 14 4xHDR
[3]\t"S-10"[2]\t\t# "spine" lid 9 4xHDR
[4]\t"S-10"[3]\t\t# "spine" lid 9 4xHDR

Switch\t36 "S-03"\t\t# "leaf" base port 0 lid 3 lmc 0
[1]\t"H-15"[1](15) \t\t# "n5 HCA-1" lid 15
[3]\t"H-16"[1](16) \t\t# "MT23108 InfiniHost Mellanox Technologies" lid 16
[4]\t"H-17"[1](17) \t\t# "MT23108 InfiniHost Mellanox Technologies" lid 17
[2]\t"S-20"[1]\t\t# "core" lid 8 4xEDR

Switch\t36 "S-10"\t\t# "spine" base port 0 lid 9 lmc 0
[1]\t"S-01"[3]\t\t# "leaf one" lid 1 4xEDR
[2]\t"S-02"[3]\t\t# "leaf" lid 2 4xHDR
[3]\t"S-02"[4]\t\t# "leaf" lid 2 4xHDR
[4]\t"S-20"[2]\t\t# "core" lid 8 4xEDR

Switch\t36 "S-20"\t\t# "core" base port 0 lid 8 lmc 0
[1]\t"S-03"[2]\t\t# "leaf" lid 3 4xEDR
[2]\t"S-10"[4]\t\t# "spine" lid 9 4xEDR

caguid=0x11
Ca\t1 "H-11"\t\t# "n1 HCA-1"
[1](11) \t"S-01"[1]\t\t# lid 11 lmc 0 "leaf one" lid 1 4xEDR
"""
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0">
    <info name="HostName" value="n7"/>
    <object type="Package"><info name="CPUModel" value="x"/></object>
  </object>
</topology>
"""


def groups(text: str, folder: Path) -> dict[str, Group]:
    file = folder / "site"
    file.write_text(text)
    return {group.name: group for group in read(file, rates=False).group}


@pytest.mark.parametrize("text", [CONF, YAML])
def test_switches_of_slurm_are_groups(text: str, tmp_path: Path) -> None:
    found = groups(text, tmp_path)
    assert {name: (group.parent, group.hosts) for name, group in found.items()} == {
        "TOP": (None, []),
        "s0": ("TOP", ["n01", "n02", "n03", "login"]),
        "s1": ("TOP", ["n04", "n05", "n9"]),
    }


def test_switches_that_nothing_joins_are_one_topology(tmp_path: Path) -> None:
    found = groups(BLOCKS, tmp_path)
    assert [(group.name, group.parent) for group in found.values()] == [
        ("all", None),
        ("b1", "all"),
        ("b2", "all"),
    ]


def test_hosts_beside_switches_are_a_group_of_their_own(tmp_path: Path) -> None:
    found = groups("SwitchName=a Nodes=n1 Switches=b,empty\nSwitchName=b Nodes=n2\nSwitchName=empty\n", tmp_path)
    assert {name: (group.parent, group.hosts) for name, group in found.items()} == {
        "a": (None, []),
        "a-hosts": ("a", ["n1"]),
        "b": ("a", ["n2"]),
    }


def test_near_switches_of_a_fabric_are_joined_before_far_ones(tmp_path: Path) -> None:
    """A name that two leaves have is none; a host with two ports is at its first switch."""
    found = groups(FABRIC, tmp_path)
    assert {name: (group.parent, group.hosts) for name, group in found.items()} == {
        "join2": (None, []),
        "S-03": ("join2", ["n5", "H-16", "H-17"]),
        "join1": ("join2", []),
        "S-02": ("join1", ["n3"]),
        "leaf one": ("join1", ["n1", "n2"]),
    }
    assert [found[name].bandwidth_bytes_per_s for name in ("leaf one", "S-02", "S-03")] == [12.5e9, 25e9, 0.0]
    assert [found[name].uplink_bytes_per_s for name in ("leaf one", "S-02", "S-03")] == [12.5e9, None, None]


def test_machines_of_hwloc_are_hosts(tmp_path: Path) -> None:
    assert groups(XML, tmp_path)["machines"].hosts == ["n7"]


def test_what_a_file_does_not_tell_is_neither_drawn_nor_used(tmp_path: Path) -> None:
    groups(CONF, tmp_path)
    text = drawing.text(read(tmp_path / "site", rates=False))
    assert text.splitlines()[0] == "TOP: local join"
    assert text.splitlines()[-1] == "origin: declared"
    with pytest.raises(UsageError, match=r"site: has no latencies; `scope topology discover` measures them"):
        read(tmp_path / "site")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SwitchName=a Nodes=\n", "it names no host"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "it names no host"),
        ("SwitchName=t Switches=a\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", "loop"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "n1 must be listed only once"),
        ("SwitchName=a Nodes=n[1-\n", "must be"),
        (XML.replace("</topology>", ""), "no element found"),
        (XML.replace("HostName", "Other"), "it names no host"),
    ],
)
def test_a_file_that_is_wrong_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        groups(text, tmp_path)


def test_the_command_draws_them(tmp_path: Path) -> None:
    groups(FABRIC, tmp_path)
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "hpcscope", "topology", "show", str(tmp_path / "site"), "--html", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    assert "not known" in page.read_text()
