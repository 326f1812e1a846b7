"""An operation of a program reaches only a fraction of the bandwidth of the library's messages."""

from statistics import median

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Trial
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.operations import fresh_buffers
from hpcscope.findings.run.rungs import RungLoss, case_of, losses
from hpcscope.findings.settings import OF_COLLECTIVES, another_algorithm
from hpcscope.models.ladder.rung import LadderRung
from hpcscope.models.prediction.operation_parts import BUFFERS, FRESH, LAYOUT, STRIDED, USED, OperationParts
from hpcscope.plan.case import Key, key
from hpcscope.statistics.estimate import in_percent
from hpcscope.statistics.summary import Summary

TOLERATED = 0.7
"""Fraction of the library's bandwidth; less is worth a line."""
MUCH = 0.3
"""Fraction of the library's bandwidth; less is much. The thesis found 29 to 63 % (Melas 2000, sec. 7.5)."""
MESSAGES = "messages at the speed of the ping-pong"
FIRST_TOUCH = "first touch of cold buffers"
PACKING = "packing of columns"
REST = "contention, copies, the library's algorithm or slower links"
UNKNOWN = "several causes, which only cases with warm buffers could separate"
"""Names of the parts; the last two are alternative names for the rest."""


def find(run: Run) -> list[Finding]:
    """Find operations below 70 % of the library's bandwidth if on a ladder, and below 30 % if not."""
    rung_losses = losses(run, "bandwidth_bytes_per_s", ("operation",), TOLERATED)
    return [_finding(run, loss) for loss in rung_losses] + [_of_parts(run, parts) for parts in _worst(run)]


def _worst(run: Run) -> list[OperationParts]:
    """Return for each operation that is not on a ladder the case that delivers least, significantly below 30 %.

    Cases whose parts are known come first, because only these can be explained.
    """
    on_ladders = {place.benchmark.name for place in run.benchmarks.standing("transfer")}
    slow = [
        parts
        for parts in run.models.operations
        if parts.subject.benchmark not in on_ladders
        and parts.retained.bounds[2] < MUCH
        and parts.retained.high is not None
    ]
    return largest_of_each(
        slow, lambda parts: parts.subject.benchmark, lambda parts: (_separated(parts), -parts.retained.value)
    )


def _separated(parts: OperationParts) -> bool:
    strided = parts.subject.parameters.get(LAYOUT) == STRIDED
    return parts.first_touch_s is not None and (parts.packing_s is not None or not strided)


def _of_parts(run: Run, operation_parts: OperationParts) -> Finding:
    retained = in_percent(operation_parts.retained)
    parts = {
        MESSAGES: operation_parts.messages_s.value,
        FIRST_TOUCH: operation_parts.first_touch_s,
        PACKING: operation_parts.packing_s,
        REST if _separated(operation_parts) else UNKNOWN: operation_parts.rest_s,
    }
    known = {name: value for name, value in parts.items() if value is not None}
    largest = max(list(known)[1:], key=lambda name: known[name])
    with_used = operation_parts.messages_s.value / max(
        operation_parts.time_s.value - (operation_parts.first_touch_s or 0.0), 1e-12
    )
    # If warm buffers alone would raise the operation above the threshold, only first touch is to blame.
    is_first_touch = largest == FIRST_TOUCH and with_used >= MUCH
    return Finding(
        code="operation-below-ping-pong",
        cause=fresh_buffers.CAUSE if largest == FIRST_TOUCH else "",
        severity="advice" if is_first_touch else "warning",
        title=f"{operation_parts.subject.label} reaches {retained} of the bandwidth of a ping-pong;"
        f" most is lost to {largest}",
        where={
            "benchmark": operation_parts.subject.benchmark,
            "size": run.measurements.size(operation_parts.subject),
            "ranks": operation_parts.subject.ranks,
            "layer": "operation",
        },
        evidence=[Evidence(what=name, value=value, unit="s") for name, value in known.items()],
        advice=_advice(run, operation_parts, largest, known[largest]),
        lost=1 - operation_parts.retained.value,
    )


def _advice(run: Run, parts: OperationParts, largest: str, lost_s: float) -> str:
    """Return what to do about the largest part, with its gain."""
    time_s = parts.time_s.value
    if largest == FIRST_TOUCH:
        return fresh_buffers.advice(run, time_s, time_s - lost_s)
    if largest == UNKNOWN:
        command = f"`scope run --module standard {parts.subject.benchmark}`"
        return f"Also measure the operation with warm buffers, which separates these causes: {command}."
    gain = f"at most {units.quantity(min(lost_s, time_s), 's')} of {units.quantity(time_s, 's')}"
    if largest == PACKING:
        return f"Send rows of a matrix, which are contiguous, or pack columns once: this saves {gain}."
    pairs = "`scope run mpi.pairs` shows slow links. " if parts.subject.ranks > 2 else ""
    return f"{pairs}Overlap computation with these messages: this saves {gain}."


def _finding(run: Run, loss: RungLoss) -> Finding:
    rung = loss.rung
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    used = _with_used_buffers(run, rung)
    below = loss.below.value or 0.0
    is_first_touch = used is not None and used >= TOLERATED * below
    evidence = [] if used is None else [Evidence(what=f"{rung.name} with warm buffers", value=used, unit="B/s")]
    trials: list[Trial] = []
    if is_first_touch and used is not None:
        advice = fresh_buffers.advice_for_rate(run, rung.value or 0.0, used)
    elif used is not None:
        how = another_algorithm(run, run.benchmarks.routine(_benchmark(run, rung)), case_of(run, rung))
        advice = f"Warm buffers do not help: the library's algorithm or the copies take the time; {how.words}."
        trials = how.trials
    else:
        advice = (
            "Also measure the operation with warm buffers; the difference is the cost of their first touch: "
            f"`scope run --module standard {_benchmark(run, rung)}`."
        )
    return Finding(
        code="operation-below-ping-pong",
        cause=fresh_buffers.CAUSE if is_first_touch else OF_COLLECTIVES if trials else "",
        severity="advice" if is_first_touch or loss.retained >= MUCH else "warning",
        title=(
            f"{rung.name} reaches {units.quantity(rung.value, 'B/s')}, {retained} of the bandwidth of the "
            f"library's messages ({loss.ladder.path})"
        ),
        where=loss.where,
        evidence=[*loss.evidence, *evidence],
        advice=advice,
        trials=trials,
        lost=1 - loss.retained,
    )


def _benchmark(run: Run, rung: LadderRung) -> str:
    return next((case.benchmark for case in run.measurements.headlines if case.label == rung.name), rung.layer)


def _with_used_buffers(run: Run, rung: LadderRung) -> float | None:
    """Return the rate of the same operation with warm buffers, which separates memory from messages.

    If that was not measured on the same path, it is estimated from the cost per cold byte on other paths.
    """
    times = {case.key: case for case in run.measurements.headlines if case.unit == "s" and case.work}
    fresh = next((case for case in times.values() if case.label == rung.name), None)
    if fresh is None or fresh.work is None or fresh.parameters.get(BUFFERS) != FRESH:
        return None
    used = _used(fresh, times)
    if used is not None and used.work is not None:
        return used.estimate.as_rate(used.work.bytes / used.ranks).value
    costs_s = [
        ((case.median or 0.0) - (other.median or 0.0)) / case.work.bytes
        for case in times.values()
        if case.benchmark == fresh.benchmark and case.ranks == fresh.ranks and case.work is not None
        if case.parameters.get(BUFFERS) == FRESH and case.work.bytes > 0
        if (other := _used(case, times)) is not None
    ]
    left_s = (fresh.median or 0.0) - median(costs_s) * fresh.work.bytes if costs_s else 0.0
    return fresh.work.bytes / fresh.ranks / left_s if left_s > 0 else None


def _used(fresh: Summary, times: dict[Key, Summary]) -> Summary | None:
    return times.get(key(fresh.benchmark, fresh.parameters | {BUFFERS: USED}, fresh.batch))
