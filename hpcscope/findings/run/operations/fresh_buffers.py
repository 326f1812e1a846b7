"""What to do about the first touch of cold buffers, given the settings of the run."""

from hpcscope import units
from hpcscope.findings.results import Run

CAUSE = "first touch of cold buffers"
TUNABLES = "GLIBC_TUNABLES"
HUGE = "glibc.malloc.hugetlb"


def advice(run: Run, fresh_s: float, used_s: float) -> str:
    """Return the advice, with its gain; huge pages are advised only if the run did not have them already."""
    gain = f"{units.quantity(fresh_s, 's')} would become {units.quantity(used_s, 's')}"
    return f"Allocate buffers once and reuse them: {gain}.{_huge_pages(run)}"


def advice_for_rate(run: Run, fresh: float, used: float) -> str:
    """Return the same advice for rates in B/s."""
    gain = f"{units.quantity(fresh, 'B/s')} would become {units.quantity(used, 'B/s')}"
    return f"Allocate buffers once and reuse them: {gain}.{_huge_pages(run)}"


def _huge_pages(run: Run) -> str:
    modes = {host.transparent_huge_pages for host in run.machine.hosts}
    if HUGE in run.machine.environment.get(TUNABLES, "") or modes <= {"always", ""}:
        return ""
    switch = " and transparent huge pages set to madvise (by root)" if "never" in modes else ""
    return f" If that is impossible, huge pages may help: `{TUNABLES}={HUGE}=1`{switch}."
