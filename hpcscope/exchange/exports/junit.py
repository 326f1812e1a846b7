"""JUnit XML for continuous integration: a test case for each case of a run.

Verified cases pass; wrong data is a failure; a crash or a timeout is an error; all other cases are skipped.
https://github.com/testmoapp/junitxml
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from hpcscope import units
from hpcscope.exchange.exports import by_case, hosts
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary

_ENDS = {"failed": "failure", "crashed": "error", "timeout": "error"}
"""Element for a case, by the first word of its reason."""


def write(runs: Sequence[Run]) -> str:
    """Return a suite for each run; the output of a test case holds its results."""
    return document([_suite(run) for run in runs])


def document(suites: Sequence[ElementTree.Element]) -> str:
    """Return a file of test suites."""
    root = ElementTree.Element("testsuites")
    root.extend(suites)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(run: Run) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=printable(run.record.name), hostname=printable(hosts(run)))
    suite.set("timestamp", datetime.fromtimestamp(run.record.started_unix_s, UTC).isoformat(timespec="seconds"))
    for summaries in by_case(run):
        _case(suite, summaries)
    for one in run.record.skipped:
        case = _test(suite, one.benchmark, f"{one.benchmark} {one.case}")
        ElementTree.SubElement(case, "skipped", message=printable(one.reason))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    return suite


def _case(suite: ElementTree.Element, summaries: list[Summary]) -> None:
    first = summaries[0]
    case = _test(suite, first.benchmark, first.label)
    right = [summary for summary in summaries if summary.is_headline]
    if not right:
        tag = _ENDS.get(first.reason.partition(":")[0], "skipped")
        ElementTree.SubElement(case, tag, message=printable(first.reason))
        return
    ElementTree.SubElement(case, "system-out").text = "\n".join(
        f"{summary.metric} {units.interval(summary.median, summary.ci_low, summary.ci_high, summary.unit)}"
        for summary in right
    )


def _test(suite: ElementTree.Element, benchmark: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=benchmark, name=printable(name))


def printable(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\t\n")
