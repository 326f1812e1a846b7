"""What `scope lab fault` does to a lab."""

from dataclasses import dataclass
from typing import Literal, get_args

from hpcscope.settings.kinds import Choice, Flag, Number, Share, Size, Text
from hpcscope.settings.table import SettingsTable, setting

Direction = Literal["both", "in", "out"]
"""Direction of a port: to the host, or from it; of a trunk: to the first switch of its name, or from it."""

_share = Share(0.999, above=True)
_rate = Number(0.1, 10_000)


@dataclass(frozen=True)
class Disturbance(SettingsTable):
    """Exactly one disturbance, of a host or of a trunk."""

    host: str | None = setting(None, Text(metavar="HOST"), "Host with the fault, for example hpc3.")
    trunk: str | None = setting(None, Text(metavar="TRUNK"), "Trunk with the fault, for example giza-router.")
    direction: Direction = setting(
        "both",
        Choice(*get_args(Direction)),
        "Direction of the link's fault: in (to the host or the trunk's first switch), out, or both.",
    )
    rate_mbit_per_s: float | None = setting(None, _rate, "Rate of the port or trunk in Mbit/s.", option="rate")
    loss: float | None = setting(None, _share, "Fraction of frames that are lost.")
    duplication: float | None = setting(None, _share, "Fraction of frames that arrive twice.")
    reordering: float | None = setting(None, _share, "Fraction of frames that are overtaken by later frames.")
    corruption: float | None = setting(None, _share, "Fraction of frames with a wrong bit.")
    largest_packet_bytes: int | None = setting(
        None, Size(68, 1499), "Silently drop IP packets of more than this many bytes.", option="mtu"
    )
    paused_ms: float | None = setting(
        None,
        Number(0, 99, above=True),
        "Stop the port or trunk for this many ms, ten times a second.",
        option="pause",
    )
    policed_mbit_per_s: float | None = setting(
        None,
        Number(0, 10_000, above=True),
        "Limit every other TCP connection to this many Mbit/s, by dropping packets.",
        option="police",
    )
    half_duplex: bool = setting(False, Flag(), "Let both directions share the link.")
    queue_bytes: int | None = setting(None, Size(1), "Size of the queues at both ends of the link.")
    dead: bool = setting(False, Flag(), "Cut the port or trunk.")
    slow: float | None = setting(None, _share, "Fraction of the time in which the host's processes are stopped.")
    stop: bool = setting(False, Flag(), "Stop the host's processes.")
    server_dead: bool = setting(False, Flag(), "Kill the host's storage server.")
    disk_full: bool = setting(False, Flag(), "Fill the host's disk.")
    disk_mb_per_s: float | None = setting(None, _rate, "Rate of the host's disk in MB/s.", option="disk-rate")
    clear: bool = setting(False, Flag(), "Remove all faults.")
