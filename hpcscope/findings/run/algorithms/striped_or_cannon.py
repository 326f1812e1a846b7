"""Which of two matrix products, striped or Cannon, is faster, and why."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import certainly_longer, excess_of, how_compared, largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases

STRIPED, CANNON = "algorithm.matmul_striped", "algorithm.matmul_cannon"
PARTS = {
    "compute_s": "computes",
    "distribute_s": "distributes",
    "exchange_s": "exchanges",
    "collect_s": "collects",
    "idle_s": "waits",
}
SMALLEST_EXCESS = 0.05


def find(run: Run) -> list[Finding]:
    """Find for each variant and each winner the case with the largest significant difference.

    Melas 2000, sec. 7.6.1: striped sends fewer and longer messages, Cannon more and shorter ones.
    """
    cases = [case for case in algorithm_cases(run) if case.total.ranks > 1]
    striped = {_key(case): case for case in cases if case.total.benchmark == STRIPED}
    both = [
        sorted((cannon, striped[_key(cannon)]), key=lambda case: case.total.median or 0.0)
        for cannon in cases
        if cannon.total.benchmark == CANNON and _key(cannon) in striped
    ]
    certain = [
        (faster, slower)
        for faster, slower in both
        if certainly_longer(slower.total, faster.total, SMALLEST_EXCESS)
    ]
    clearest = largest_of_each(
        certain,
        lambda pair: (pair[0].kind, pair[0].total.transport, pair[0].total.benchmark),
        lambda pair: _excess(*pair),
    )
    return [_finding(faster, slower) for faster, slower in clearest]


def _key(case: ProgramCase) -> tuple[object, ...]:
    total = case.total
    return (case.kind, case.size, total.parameters.get("grid_rows", 0), total.batch)


def _excess(faster: ProgramCase, slower: ProgramCase) -> float:
    return excess_of(slower.total, faster.total)


def _finding(faster: ProgramCase, slower: ProgramCase) -> Finding:
    total = faster.total
    excess = _excess(faster, slower)
    return Finding(
        code="striped-or-cannon",
        cause="choice of the matrix product",
        severity="information",
        title=(
            f"{faster.name} is faster than {slower.name} on {total.ranks} ranks, "
            f"{units.quantity(total.median, 's')} against {units.quantity(slower.total.median, 's')}: "
            f"{why(faster, slower)}"
        ),
        where=faster.where | {"slower_in": _longest_part(faster, slower).removesuffix("_s")},
        evidence=[
            *_moved(faster),
            *_moved(slower),
            *faster.evidence("time_s", *PARTS),
            *slower.evidence("time_s", *PARTS),
            how_compared(slower.total, faster.total),
        ],
        advice=(
            f"Use {faster.name} at this size and number of ranks; {slower.name} takes {units.percent(excess)} "
            "longer. Few long messages suit a network with high latency. Short messages between neighbors suit a "
            "network that carries many messages concurrently."
        ),
        lost=None,
    )


def why(faster: ProgramCase, slower: ProgramCase) -> str:
    """Return the part with most of the difference; for communication, also the message counts and sizes."""
    part = _longest_part(faster, slower)
    longer = slower.seconds(part) - faster.seconds(part)
    text = f"{slower.name} {PARTS[part]} for {units.quantity(longer, 's')} longer"
    one, two = faster.total.work, slower.total.work
    if part in ("compute_s", "idle_s") or one is None or two is None or not one.messages or not two.messages:
        return text
    return (
        f"{text}. {slower.name} sends {two.messages:.0f} messages of "
        f"{units.quantity(two.bytes / two.messages, 'B')} on average; {faster.name} sends {one.messages:.0f} of "
        f"{units.quantity(one.bytes / one.messages, 'B')}"
    )


def _longest_part(faster: ProgramCase, slower: ProgramCase) -> str:
    return max(PARTS, key=lambda name: slower.seconds(name) - faster.seconds(name))


def _moved(case: ProgramCase) -> list[Evidence]:
    work = case.total.work
    if work is None:
        return []
    return [
        Evidence(what=f"messages of {case.total.label}", value=work.messages),
        Evidence(what=f"bytes moved by {case.total.label}", value=work.bytes, unit="B"),
    ]
