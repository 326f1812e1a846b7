"""How long and with what `scope health` visits the hosts of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from hpcscope.settings.kinds import Flag, Number, Size, Text, Whole
from hpcscope.settings.table import SettingsTable, setting

MIB = 1 << 20


@dataclass(frozen=True)
class HealthSettings(SettingsTable):
    """The limits of the check."""

    minutes: float = setting(2.0, Number(0.1, 10080.0, metavar="MINUTES"), "Approximate time of the check.")
    watch: bool = setting(False, Flag(), "Skip busy hosts, and check them later, until --minutes have passed.")
    budget: float = setting(
        60.0, Number(0.1, 1e6, metavar="NODE_MINUTES"), "With --watch: node-minutes that the check may use."
    )
    memory_bytes: int = setting(
        4096 * MIB,
        Size(16 * MIB),
        "Memory that the check may use on each host, at most a quarter of the free memory.",
    )
    at_once: int = setting(64, Whole(1, 10_000), "Number of hosts checked at the same time; in a lab, always one.")
    links: bool = setting(True, Flag(), "Also measure links between hosts over TCP; default: yes.")
    topology: str | None = setting(
        None, Text(metavar="FILE"), "topology.toml or Slurm's topology.conf, to find slow switches."
    )
    seed: int = setting(1, Whole(0, 2**53), "Random seed for the order in which hosts are measured.")
