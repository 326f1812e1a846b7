"""A summary of runs in Markdown, for a job's page on GitHub or GitLab, an issue or a note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.exchange.exports import by_case, hosts
from hpcscope.findings.results import Run


def write(runs: Sequence[Run]) -> str:
    """Return for each run its figures with intervals, what went wrong, and its findings, worst first."""
    return "\n".join(line for each in runs for line in _lines(each))


def _lines(each: Run) -> Iterator[str]:
    yield f"# {_plain(each.record.name)}"
    yield ""
    yield f"Hosts: {_plain(hosts(each))}. Status: {each.record.status}. Scope {_plain(each.record.scope_version)}."
    yield ""
    if each.headlines:
        yield "| case | metric | median | 95 % interval | holds for |"
        yield "|---|---|---:|---|---|"
    for one in each.headlines:
        low_high = "–".join(units.quantity(end, one.unit) for end in (one.ci_low, one.ci_high) if end is not None)
        metric = each.benchmarks.metric_label(one.metric, one.benchmark)
        cells = (one.label, metric, units.quantity(one.median, one.unit), low_high or "none", one.holds_for)
        yield f"| {' | '.join(map(_plain, cells))} |"
    wrong = [summaries[0] for summaries in by_case(each) if not any(one.is_headline for one in summaries)]
    if wrong:
        yield "\n## Without a result\n"
        yield from (f"- {_plain(one.label)}: {_plain(one.reason)}" for one in wrong)
    if each.findings:
        yield "\n## Findings\n"
        yield from (f"- **{one.severity}** {_plain(one.title)}. {_plain(one.advice)}" for one in each.findings)
    yield ""


def _plain(text: str) -> str:
    """Let no text be taken for markup or for another cell."""
    escaped = "".join(f"\\{letter}" if letter in r"\`*_[]<>|#" else letter for letter in text)
    return " ".join(escaped.split())
