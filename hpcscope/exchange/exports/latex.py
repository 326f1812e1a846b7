"""LaTeX tables for a paper with booktabs and siunitx: one for each benchmark and metric, with a row per case."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from hpcscope import units
from hpcscope.exchange.exports import hosts
from hpcscope.findings.results import Run
from hpcscope.report.figure import common_words, value_words
from hpcscope.report.order import factors, summary_key, varying
from hpcscope.statistics.summary import Summary

_ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"µ": r"\textmu{}", "×": r"$\times$", "–": "--", "<": r"$<$", ">": r"$>$", "−": "$-$", "\u202f": r"\,"},
}


def write(runs: Sequence[Run]) -> str:
    r"""Return `tabular`s for `\input`; the document needs the packages booktabs, siunitx and textcomp."""
    lines = []
    for run in runs:
        words = f"{run.record.name}: hosts {hosts(run)}, Scope {run.record.scope_version}"
        lines.append(f"% {' '.join(words.split())}")
        for _, group in groupby(
            sorted(run.headlines, key=summary_key), key=lambda case: (case.benchmark, case.metric)
        ):
            lines += _table(run, list(group))
    return "\n".join([*lines, ""])


def _table(run: Run, group: list[Summary]) -> Iterator[str]:
    """Yield a table with a column for each parameter that varies, and one unit for all values."""
    first, names = group[0], varying(group)[0]
    largest = max((abs(case.median) for case in group if case.median is not None), default=0.0)
    factor, unit = units.scale(first.unit, largest)
    metric = run.benchmarks.metric_label(first.metric, first.benchmark)
    same = common_words(group, run.benchmarks)
    yield f"% {run.benchmarks[first.benchmark].title}: {metric}{', ' + same if same else ''}"
    yield rf"\begin{{tabular}}{{{'l' * len(names)}SSS}}"
    yield r"\toprule"
    heads = [_escaped(run.benchmarks.parameter_label(name, first.benchmark)) for name in names]
    median = _escaped(f"{metric}, {unit}" if unit else metric)
    yield " & ".join([*heads, f"{{{median}}}", r"{95\,\% from}", "{to}"]) + r" \\"
    yield r"\midrule"
    for case in group:
        chosen = factors(case)
        cells = [
            value_words(run.benchmarks, case.benchmark, name, chosen[name]) if name in chosen else ""
            for name in names
        ]
        values = [
            units.digits(end / factor) if end is not None else "{--}"
            for end in (case.median, case.ci_low, case.ci_high)
        ]
        yield " & ".join([*map(_escaped, cells), *values]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))
