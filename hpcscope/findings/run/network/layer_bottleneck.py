"""Which layer limits the messages of a network: the wire, the protocol or the library (Melas 2000, sec. 7.2.7).

In the thesis, any software saturated a slow wire, TCP/IP left a fast one idle (13 % of Myrinet), and a lean
protocol moved the loss into the library. With a faster wire, n_1/2 grew, because the start-up time remained. So
long messages are judged by the fraction of the bandwidth below that each layer delivers, short ones by what each
layer adds to the start-up time, and n_1/2 separates the two.
"""

from dataclasses import dataclass
from typing import Literal

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.rungs import case_of
from hpcscope.findings.settings import Advised, advised
from hpcscope.models.fitting.fit import Fit, FittedParameter
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.plan.case import Case

Layer = Literal["wire", "protocol", "library"]

SATURATED = 0.8
"""Fraction of the limit that counts as saturation: in the thesis, Ethernet reached 0.84 to 0.87 (table 7.4)."""


@dataclass(frozen=True)
class Three:
    """The three rungs that are compared."""

    wire: LadderRung
    protocol: LadderRung
    library: LadderRung


def find(run: Run) -> list[Finding]:
    """Find the limiting layer on each path between hosts, if the results separate the layers."""
    ladders = run.models.ladders
    findings: dict[str, Finding] = {}
    latencies = {ladder.path: ladder for ladder in reversed(ladders) if ladder.quantity == "latency_s"}
    for ladder in ladders:
        three = _three(ladder)
        if ladder.quantity != "bandwidth_bytes_per_s" or three is None or ladder.path in findings:
            continue
        layer = _long(three)
        if layer is not None:
            start = latencies.get(ladder.path)
            findings[ladder.path] = _finding(run, ladder, three, layer, _three(start) if start else None)
    return list(findings.values())


def _three(ladder: Ladder) -> Three | None:
    """Return the rungs, with the limit, else raw frames, as the wire; None if a rung has no value."""
    rungs = {rung.layer: rung for rung in ladder.rungs if rung.value}
    wire = rungs.get("limit") or rungs.get("frames")
    if wire is None or "network" not in rungs or "mpi" not in rungs or "memory" in ladder.path:
        return None
    return Three(wire, rungs["network"], rungs["mpi"])


def _long(three: Three) -> Layer | None:
    """Return the layer that limits long messages; None if the intervals do not separate the losses."""
    wire, protocol, library = (_bounds(rung) for rung in (three.wire, three.protocol, three.library))
    if library[0] > wire[1]:
        return None  # the library uses another path
    if library[0] >= SATURATED * wire[1]:
        return "wire"
    if library[1] >= SATURATED * wire[0]:
        return None  # near the threshold
    kept_by_protocol = (protocol[0] / wire[1], protocol[1] / wire[0])
    kept_by_library = (library[0] / protocol[1], library[1] / protocol[0])
    if kept_by_protocol[1] < kept_by_library[0]:
        return "protocol"
    if kept_by_library[1] < kept_by_protocol[0]:
        return "library"
    return None


def _bounds(rung: LadderRung) -> tuple[float, float]:
    value = rung.value or 0.0
    return rung.low or value, rung.high or value


def _short(three: Three) -> tuple[Layer, float] | None:
    """Return the layer that adds most to the time of the smallest message, and its fraction of that time.

    None if a layer takes less time than the one below it: they did not use the same path.
    """
    wire, protocol, library = (rung.value or 0.0 for rung in (three.wire, three.protocol, three.library))
    if not wire <= protocol <= library:
        return None
    added: dict[Layer, float] = {"wire": wire, "protocol": protocol - wire, "library": library - protocol}
    most = max(added, key=lambda layer: added[layer])
    return most, added[most] / library


def _finding(run: Run, ladder: Ladder, three: Three, layer: Layer, start: Three | None) -> Finding:
    library, wire = three.library.value or 0.0, three.wire.value or 0.0
    title = f"The {layer} limits long messages: MPI reaches {units.share(library / wire)} of the wire's rate"
    rungs = [three.wire, three.protocol, three.library]
    where: dict[str, str | int | float] = {"path": ladder.path, "layer": layer}
    half = _n_half(run, ladder, three.library)
    if half is not None:
        where["n_half_bytes"] = round(half.value)
    short = _short(start) if start is not None else None
    if start is not None and short is not None:
        most, share = short
        below = f"below {units.quantity(half.value, 'B')}" if half is not None else "in short messages"
        title += f"; {below}, the {most} takes {units.share(share)} of the start-up time"
        rungs += [start.wire, start.protocol, start.library]
    evidence = [Evidence(what=rung.name, value=rung.value or 0.0, unit=rung.unit) for rung in rungs]
    for rung in (three.protocol, three.library):
        parameter = _n_half(run, ladder, rung)
        evidence += [Evidence(what=f"n_1/2 of {rung.name}", value=parameter.value, unit="B")] if parameter else []
    how = _advice(run, layer, three.library)
    return Finding(
        code="layer-bottleneck",
        severity="information" if layer == "wire" else "advice",
        title=f"{title} ({ladder.path})",
        where=where,
        evidence=evidence,
        advice=how.words,
        trials=how.trials,
        lost=None if layer == "wire" else 1 - library / wire,
    )


def _n_half(run: Run, ladder: Ladder, rung: LadderRung) -> FittedParameter | None:
    """Return the fitted n_1/2 of the curve that a rung belongs to."""
    for fit in run.models.fits:
        if fit.chosen and _is_of(run, fit, ladder, rung):
            return next((parameter for parameter in fit.parameters if parameter.name == "n_half_bytes"), None)
    return None


def _is_of(run: Run, fit: Fit, ladder: Ladder, rung: LadderRung) -> bool:
    """Return whether the case of a rung is a point of a curve over message sizes."""
    subject = fit.subject
    if fit.variable != "message_bytes" or ladder.message_bytes is None:
        return False
    parameters = {**subject.parameters, fit.variable: ladder.message_bytes}
    return Case.of(run.benchmarks, subject.benchmark, parameters, subject.batch).label == rung.name


def _advice(run: Run, layer: Layer, library: LadderRung) -> Advised:
    if layer == "wire":
        return Advised(
            "The protocol and the MPI library cost little. Only a faster link, several links, or larger frames "
            "(MTU 9000) help.",
            [],
        )
    if layer == "protocol":
        return Advised(
            "A faster link alone will not help. Try larger frames (MTU 9000), offloads (`ethtool -k`), larger "
            "socket buffers, or a kernel-bypass transport (libfabric, UCX).",
            [],
        )
    how = advised(run, "network stack", case_of(run, library))
    words = "The protocol has capacity that the library does not use. Compare another MPI (`scope run --mpi NAME`)"
    return how._replace(words=f"{words}; {how.words}.")
