"""A summary of runs in Markdown, for the summary of a GitHub or GitLab job, an issue or a note."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.exchange.exports import by_case, hosts
from hpcscope.findings.results import Run
from hpcscope.report.order import summary_key


def write(runs: Sequence[Run]) -> str:
    """Return for each run its findings (worst first), what went wrong, and its values with their intervals."""
    return "\n".join(line for run in runs for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    yield f"# {_plain(run.record.name)}"
    yield ""
    yield f"Hosts: {_plain(hosts(run))}. Status: {run.record.status}. Scope {_plain(run.record.scope_version)}."
    if run.findings:
        yield "\n## Findings\n"
        yield from (
            f"- **{finding.severity}** {_plain(finding.title)}. {_plain(finding.advice)}"
            for finding in run.findings
        )
    wrong = [cases[0] for cases in by_case(run) if not any(case.is_headline for case in cases)]
    if wrong:
        yield "\n## Without a result\n"
        yield from (f"- {_plain(case.label)}: {_plain(case.reason)}" for case in wrong)
    if run.headlines:
        yield "\n## Results\n"
        yield "| case | metric | median | 95 % CI | holds for |"
        yield "|---|---|---:|---|---|"
    for case in sorted(run.headlines, key=summary_key):
        low_high = "–".join(
            units.quantity(end, case.unit) for end in (case.ci_low, case.ci_high) if end is not None
        )
        metric = run.benchmarks.metric_label(case.metric, case.benchmark)
        cells = (case.label, metric, units.quantity(case.median, case.unit), low_high or "none", case.holds_for)
        yield f"| {' | '.join(map(_plain, cells))} |"
    yield ""


def _plain(text: str) -> str:
    """Escape a text so that it is neither markup nor the start of another cell."""
    escaped = "".join(f"\\{letter}" if letter in r"\`*_[]<>|#" else letter for letter in text)
    return " ".join(escaped.split())
