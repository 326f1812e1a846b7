"""Packets that the MTU of both hosts allows never arrive, and no message reports it."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.two_hosts import figures_by_case, two_hosts
from hpcscope.statistics.summary import Summary

DELIVERED, MTU, TOLD = "delivered_share", "mtu_bytes", "told"
OUT, IN = "largest_out_bytes", "largest_in_bytes"
FEWEST = 3
"""Fewest repetitions, which must all agree: each tries every size several times, so loss does not explain them."""


def find(run: Run) -> list[Finding]:
    """Find the paths that do not deliver full packets in any repetition, without any message about it."""
    measured = [cases for cases in figures_by_case(run, DELIVERED) if {MTU, TOLD, OUT, IN} <= set(cases)]
    return [_finding(run, cases) for cases in measured if _is_black_hole(cases)]


def _is_black_hole(cases: dict[str, Summary]) -> bool:
    share, told = cases[DELIVERED], cases[TOLD]
    return share.n >= FEWEST and share.maximum is not None and share.maximum < 1 and not told.maximum


def _finding(run: Run, cases: dict[str, Summary]) -> Finding:
    first, second = two_hosts(run, cases[DELIVERED])
    out, into, mtu = (cases[name].median or 0.0 for name in (OUT, IN, MTU))
    largest = min(out, into)
    if out == into:
        which = f"between {first} and {second}, in both directions"
    else:
        which = f"from {first} to {second}" if out < into else f"from {second} to {first}"
    return Finding(
        code="mtu-black-hole",
        severity="error",
        title=(
            f"Packets above {largest:.0f} B silently disappear {which}, though both ends allow {mtu:.0f} B: "
            "connections open, and the first long message hangs"
        ),
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=[
            *run.evidence(cases[OUT], cases[IN], cases[MTU]),
            Evidence(what="repetitions in which a full packet arrived", value=f"0 of {cases[DELIVERED].n}"),
            Evidence(what="ICMP messages about the packet size", value="none"),
        ],
        advice=(
            f"Raise the MTU of the switch, tunnel or VLAN on the way, or lower the hosts' MTU to {largest:.0f} "
            f"(`ip link set dev ... mtu {largest:.0f}`). Let routers' ICMP messages 'fragmentation needed' pass; "
            "jumbo frames need the support of every device on the path. `sysctl "
            "net.ipv4.tcp_mtu_probing=1` lets TCP recover until then."
        ),
        lost=1.0,
    )
