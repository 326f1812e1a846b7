"""Messages inside a host are slower than messages between hosts."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import but_for, excess_of, how_compared
from hpcscope.findings.settings import advised
from hpcscope.statistics.summary import Summary

SMALLEST_EXCESS = 0.05
SIGNIFICANCE = 0.01
FEWEST_LAUNCHES = 4


def find(run: Run) -> list[Finding]:
    """Find pair benchmarks that take significantly longer intra-node than inter-node; one finding for each."""
    pairs = [s for s in run.headlines if s.ranks == 2 and s.unit == "s" and s.definition != "observed"]
    remote = {but_for(s, "placement"): s for s in pairs if s.placement.one_per_host}
    slower: dict[str, list[tuple[Summary, Summary]]] = {}
    for local in pairs:
        other = remote.get(but_for(local, "placement"))
        if not local.placement.one_per_host and other is not None and _is_slower(local, other):
            slower.setdefault(local.benchmark, []).append((local, other))
    return [_finding(run, found) for found in slower.values()]


def _is_slower(local: Summary, remote: Summary) -> bool:
    if min(len(local.launch_medians), len(remote.launch_medians)) < FEWEST_LAUNCHES:
        return False
    from scipy.stats import mannwhitneyu  # takes a second to load

    test = mannwhitneyu(local.launch_medians, remote.launch_medians, alternative="greater")
    return excess_of(local, remote) > SMALLEST_EXCESS and float(test.pvalue) < SIGNIFICANCE


def _finding(run: Run, found: list[tuple[Summary, Summary]]) -> Finding:
    local, remote = max(found, key=lambda pair: excess_of(*pair))
    excess = excess_of(local, remote)
    many = f" (worst of {len(found)} cases)" if len(found) > 1 else ""
    how = advised(run, "memory copies", local)
    return Finding(
        code="local-pair-slower",
        severity="warning",
        title=f"Inside a host, {local.label} takes {units.longer(excess)} between hosts{many}",
        where={"benchmark": local.benchmark, "layer": "mpi"},
        evidence=[
            *run.evidence(local, remote),
            how_compared(local, remote),
            Evidence(what="time inside a host / time between hosts - 1", value=excess),
        ],
        advice=(
            "Messages inside a host should go through shared memory. Check that the library uses it, and that the "
            f"two ranks do not share a core; {how.words}."
        ),
        trials=how.trials,
        lost=excess / (1 + excess),
    )
