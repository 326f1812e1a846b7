"""Kinds of findings about a measured run: one file each, in the package of the layer that they are about."""

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.at_stake import weighed


def find_all(run: Run) -> list[Finding]:
    """Return one finding for each cause, worst first: by severity, then by the time that programs lose."""
    return find.one_of_each_cause(find.worst_first(weighed(find.find_all(__name__, run), run)))
