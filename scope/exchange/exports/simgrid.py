"""A platform for SimGrid and SMPI: hosts, links and groups with their measured figures.

Latencies and rates are those that processes saw: SimGrid's own factors, which account for protocols, are set to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from scope import units
from scope.exchange.exports import Results, only
from scope.rundirectory import RunDirectory
from scope.simulation import description
from scope.simulation.platform import Figure, Platform, platform
from scope.topology.topology import read


def write(runs: Sequence[Results]) -> str:
    """Return the platform of one run; UsageError names what the run did not measure."""
    each = only(runs, "simgrid")
    file = RunDirectory(each.folder).topology
    known = read(file) if file.exists() else None
    made = platform(each.measurements, known)
    return description.write(made, _origins(each, made, from_file=known is not None and made.topology is known))


def _origins(each: Results, made: Platform, from_file: bool) -> list[str]:
    """Return where every figure comes from."""
    lines = [f"run {each.run.name!r}: {made.origin}; Scope {each.run.scope_version}"]
    speeds = {one.flops_per_s: one.name for one in reversed(made.nodes)}
    lines += [f"speed of {name} and hosts like it: {_told(figure)}" for figure, name in speeds.items()]
    for where, exchange in (("inside a host", made.inside), ("between hosts", made.between)):
        if exchange is not None:
            lines.append(f"latency {where}: {_told(exchange.latency_s)}")
            lines.append(f"rate {where}: {_told(exchange.bandwidth_bytes_per_s)}")
    if made.inside is None:
        lines.append("inside a host: not measured; SimGrid takes its own loopback")
    if from_file and made.topology is not None:
        lines.append(f"between hosts: topology.toml of the run ({made.topology.origin}), which has no intervals")
    return lines


def _told(figure: Figure) -> str:
    ends = figure.estimate
    return f"{units.interval(ends.value, ends.low, ends.high, figure.unit)}, {figure.case}"
