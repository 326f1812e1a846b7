"""Copies between a device and pageable host memory are much slower than copies with pinned memory."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import but_for, largest_of_each
from hpcscope.findings.run.node.memory_saturated import share
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary

TRANSFER = "device.transfer"
TOLERATED = 0.7
"""Fraction of the rate with pinned memory; less is worth a line."""
SIZE = "transfer_bytes"


def find(run: Run) -> list[Finding]:
    """Find the direction of large copies in which pageable memory loses most, at 95 % confidence."""
    measured = run.measurements.of(TRANSFER, "bandwidth_bytes_per_s")
    of_devices = (each for each in measured if not _on_processors(run, each))
    rates = largest_of_each(of_devices, lambda each: but_for(each, SIZE), lambda each: int(each.parameters[SIZE]))
    pinned = {_apart_from_memory(each): each for each in rates if each.parameters["memory"] == "pinned"}
    compared = [
        (share(each, pinned[_apart_from_memory(each)]), each, pinned[_apart_from_memory(each)])
        for each in rates
        if each.parameters["memory"] == "pageable" and _apart_from_memory(each) in pinned
    ]
    certain = [each for each in compared if (each[0].high or 1.0) < TOLERATED]
    return [_finding(run, *min(certain, key=lambda each: each[0].value))] if certain else []


def _apart_from_memory(case: Summary) -> object:
    return but_for(case, SIZE, "memory")


def _on_processors(run: Run, case: Summary) -> bool:
    visits = run.raw_samples.by_case().get(case.samples_key, [])
    return any(visit.settings.get("device_kind") == "cpu" for visit in visits)


def _finding(run: Run, kept: Estimate, pageable: Summary, pinned: Summary) -> Finding:
    direction = str(pageable.parameters["direction"]).replace("_", " the ")
    size = units.size(int(pageable.parameters[SIZE]))
    return Finding(
        code="device-pageable-copies",
        severity="advice",
        title=f"Copies of {size} {direction} take {1 / kept.value:.1f} times as long if host memory is not pinned",
        where={"layer": "device", "benchmark": TRANSFER},
        evidence=run.evidence(pinned, pageable),
        advice="Copy from and to pinned memory (`cudaHostAlloc`, `cudaHostRegister`, PyTorch's `pin_memory`), and "
        "reuse it, because pinning takes time, too.",
        lost=1 - kept.value,
    )
