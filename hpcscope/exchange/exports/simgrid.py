"""A platform for SimGrid and SMPI: hosts, links and groups with their measured values.

Latencies and rates are as measured between ranks, so SimGrid's own factors for protocol overhead are set to 1.
"""

from collections.abc import Sequence

from hpcscope.exchange.exports import only
from hpcscope.findings.results import Run
from hpcscope.simulation import description
from hpcscope.simulation.platform import Platform, PlatformFigure, platform
from hpcscope.statistics.estimate import in_unit


def write(runs: Sequence[Run]) -> str:
    """Return the platform of one run; a UsageError names what the run did not measure."""
    run = only(runs, "simgrid")
    made = platform(run.measurements, run.topology)
    from_file = run.topology is not None and made.topology is run.topology
    return description.write(made, _origins(run, made, from_file))


def _origins(run: Run, made: Platform, from_file: bool) -> list[str]:
    """Return the origin of every value, one per line."""
    lines = [f"run {run.record.name!r}: {made.origin}; Scope {run.record.scope_version}"]
    speeds = {node.flops_per_s: node.name for node in reversed(made.nodes)}
    lines += [f"speed of {name} and equal hosts: {_told(figure)}" for figure, name in speeds.items()]
    for where, exchange in (("inside a host", made.inside), ("between hosts", made.between)):
        if exchange is not None:
            lines.append(f"latency {where}: {_told(exchange.latency_s)}")
            lines.append(f"rate {where}: {_told(exchange.bandwidth_bytes_per_s)}")
    if made.inside is None:
        lines.append("inside a host: not measured; SimGrid uses its default loopback")
    if from_file and made.topology is not None:
        lines.append(f"between hosts: topology.toml of the run ({made.topology.origin}), which has no intervals")
    return lines


def _told(figure: PlatformFigure) -> str:
    ends = figure.estimate
    return f"{in_unit(ends, figure.unit)}, {figure.case}"
