"""A table of all results for a paper: LaTeX with booktabs, medians with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from hpcscope import units
from hpcscope.exchange.exports import hosts
from hpcscope.findings.results import Run

_ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"µ": r"\textmu{}", "×": r"$\times$", "–": "--", "<": r"$<$", ">": r"$>$", "−": "$-$", "\u202f": r"\,"},
}


def write(runs: Sequence[Run]) -> str:
    r"""Return a `tabular` for `\input`; the document needs the packages booktabs and textcomp."""
    lines = [
        f"% {' '.join(each.record.name.split())}: hosts {' '.join(hosts(each).split())},"
        f" Scope {' '.join(each.record.scope_version.split())}"
        for each in runs
    ]
    lines += [r"\begin{tabular}{llrl}", r"\toprule", r"case & metric & median & 95\,\% interval \\", r"\midrule"]
    for each in runs:
        for one in each.headlines:
            ends = [units.quantity(end, one.unit) for end in (one.ci_low, one.ci_high) if end is not None]
            metric = each.benchmarks.metric_label(one.metric, one.benchmark)
            cells = (one.label, metric, units.quantity(one.median, one.unit), " – ".join(ends) or "none")
            lines.append(f"{' & '.join(map(_escaped, cells))} \\\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)
