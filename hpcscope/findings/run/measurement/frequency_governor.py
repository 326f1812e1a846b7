"""The frequency governor may keep the processors below their nominal clock."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.names import several


def find(run: Run) -> list[Finding]:
    """Find hosts whose frequency governor is known and not `performance`; one finding per governor."""
    hosts: dict[str, list[str]] = {}
    for host in run.machine.hosts:
        if host.governor and host.governor != "performance":
            hosts.setdefault(host.governor, []).append(host.name)
    return [
        Finding(
            code="frequency-governor",
            severity="warning",
            title=f"The frequency governor is {governor}, not performance, on {several(names)}",
            where={"host": several(names)},
            evidence=[Evidence(what="governor", value=governor)],
            advice=(
                "Short cases may end before the frequency has risen. As root, run `cpupower frequency-set -g "
                "performance`. In a batch job, request `performance`: `srun --cpu-freq=performance`."
            ),
        )
        for governor, names in hosts.items()
    ]
