"""A library changes its protocol at some message size, and the time jumps."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.settings import Advised, another_limit
from hpcscope.models.fitting.fit import Breakpoint, Fit
from hpcscope.plan.case import Case

SMALLEST_STEP = 0.1
"""Least jump, as a fraction of the time; smaller jumps are not worth a line."""
LARGE_STEP = 0.25
MOVED = 4
"""Factor by which a trial moves the limit beyond the sizes next to the switch."""


def find(run: Run) -> list[Finding]:
    """Find breakpoints of chosen fits with a jump that matters and whose interval excludes zero."""
    return [
        _finding(run, fit, point)
        for fit in run.models.fits
        if fit.chosen and fit.definition != "max_rank"
        for point in fit.breakpoints
        if point.is_jump and abs(step_share(fit, point)) >= SMALLEST_STEP and _is_known(run, fit, point)
    ]


def step_share(fit: Fit, point: Breakpoint) -> float:
    """Return the jump as a fraction of the time that the line before the break predicts at the break."""
    line = next(segment for segment in fit.segments if segment.high == point.last_before)
    halfway = (point.last_before + point.first_after) / 2
    return point.jump_s.value / (line.latency_s.value + line.per_byte_s.value * halfway)


def _is_known(run: Run, fit: Fit, point: Breakpoint) -> bool:
    """Return whether the times next to a break have intervals: single values of another program may be chance."""
    if run.record.imported is None:
        return True
    beside = [fit_point for fit_point in fit.points if fit_point.x in (point.last_before, point.first_after)]
    return all(fit_point.measured_low < fit_point.measured_high for fit_point in beside)


def _finding(run: Run, fit: Fit, point: Breakpoint) -> Finding:
    share = step_share(fit, point)
    last, first = units.size(point.last_before), units.size(point.first_after)
    jump = point.jump_s
    low, high = sorted((abs(jump.low or 0), abs(jump.high or 0)))
    step = units.interval(abs(jump.value), low, high, "s")
    word = "longer" if jump.value > 0 else "shorter"
    how = _advice(run, fit, point, last, first)
    owner = "the library's" if run.benchmark(fit.subject).level == "mpi" else "the"
    return Finding(
        code="protocol-switch",
        cause="protocol of the library" if run.benchmark(fit.subject).level == "mpi" else "buffers of the kernel",
        severity="advice" if abs(share) >= LARGE_STEP else "information",
        title=f"{fit.subject.label}: messages above {last} take {step} ({units.share(abs(share))}) {word}"
        + _named(point, owner),
        where={
            "benchmark": fit.subject.benchmark,
            "transport": fit.subject.transport,
            "ranks": fit.subject.ranks,
            "last_before_bytes": int(point.last_before),
            "first_after_bytes": int(point.first_after),
        },
        evidence=[
            Evidence(what=f"fitted jump between {last} and {first}", value=jump.value, unit="s"),
            *(
                Evidence(what=f"{owner} {setting.name}", value=setting.value, unit="B")
                for setting in point.settings
            ),
            Evidence(what=f"BIC of {fit.model}: {fit.reason}", value=fit.bic),
            *(
                Evidence(what=f"measured at {units.size(p.x)}", value=p.measured, unit="s")
                for p in fit.points
                if p.x in (point.last_before, point.first_after)
            ),
        ],
        advice=how.words,
        trials=how.trials,
        lost=share / (1 + share) if jump.value > 0 else None,
    )


def _named(point: Breakpoint, owner: str) -> str:
    if not point.settings:
        return ""
    likeliest = point.settings[0]
    return f"; {owner} {likeliest.name} is {units.size(likeliest.value)}"


def _advice(run: Run, fit: Fit, point: Breakpoint, last: str, first: str) -> Advised:
    if run.benchmark(fit.subject).level != "mpi":
        words = f"The cause is below the library: messages of {first} need other buffers, packets or pages."
        if point.settings:
            full = " or ".join(f"the {setting.name} ({setting.value:,} B)" for setting in point.settings)
            fit_or_not = "just fit" if point.jump_s.value > 0 else "no longer fit"
            words = f"Between {last} and {first}, {full} fills up: messages that {fit_or_not} are cheaper."
        return Advised(words, [])
    longer = point.jump_s.value > 0
    parameters = {**fit.subject.parameters, fit.variable: int(point.first_after if longer else point.last_before)}
    case = Case.of(run.benchmarks, fit.subject.benchmark, parameters, fit.subject.batch)
    moved = point.first_after * MOVED if longer else point.last_before / MOVED
    how = another_limit(run, point.settings[:1], round(moved), case)
    where = f"The time jumps between {last} and {first}, usually because the protocol or algorithm changes"
    better = f"a {'higher' if longer else 'lower'} limit may speed up the slower of these messages"
    return how._replace(words=f"{where}; {better}: {how.words}.")
