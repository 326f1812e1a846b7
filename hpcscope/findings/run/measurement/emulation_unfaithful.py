"""An emulated link does not have its declared rate."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.lab.fidelity import faithful, lacks_processors
from hpcscope.machine.machine import EmulatedCluster, EmulatedLink


def find(run: Run) -> list[Finding]:
    """Find links of the lab whose measured rate differs from the declared rate; one finding for all of them."""
    lab = run.machine.lab
    off = [link for link in lab.links if not faithful(link)] if lab else []
    if lab is None or not off:
        return []
    worst = max(off, key=lambda link: abs(link.worst[1]))
    return [
        Finding(
            code="emulation-unfaithful",
            about="measurement",
            severity="warning",
            title=f"In the lab, the {worst.link} carried {_amount(worst)} than declared: the results describe "
            "another network",
            where={"layer": "network", "lab": lab.name},
            evidence=[
                Evidence(what=f"{link.link}, {link.worst[0]}", value=units.change(link.worst[1])) for link in off
            ],
            advice=_advice(lab, worst),
        )
    ]


def _amount(link: EmulatedLink) -> str:
    what, deviation = link.worst
    return f"{what} {units.percent(abs(deviation), 1)} {'slower' if deviation < 0 else 'faster'}"


def _advice(lab: EmulatedCluster, link: EmulatedLink) -> str:
    if lab.faults:
        return f"Faults were injected: {', '.join(lab.faults)}. `scope lab fault --clear` removes them."
    if lacks_processors(link):
        return (
            f"The processors were {units.percent(link.processor_share)} busy during that measurement: the "
            "emulation lacks computing power. Use a quieter or larger machine, lower rates, or fewer hosts."
        )
    return "Find out what else limits the link (`scope lab status`), and check it again: `scope lab check`."
