"""NAS Parallel Benchmarks: results of versions 2 to 3.4 (serial, OpenMP or MPI), and of NPB-CPP 4.1.

Lines `name = value` follow ` CG Benchmark Completed.`. Times are seconds of one execution, with two decimals;
Mop/s are 10^6 operations per second, as counted by the kernel (print_results.f). A kernel without threads is a
case of Scope's kernel of the same name; with threads, in a larger class or under another name, it becomes
`application.nas_cg` etc.
"""

import re
from dataclasses import dataclass, field, replace

from hpcscope.catalog.declared import declared as of_scope
from hpcscope.exchange.imports import Given, PrintedFigure, metric, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

SHORTEST_S = 1.0
"""Shorter times are printed with too few digits; the rate is more precise."""
CLASSES = ("S", "W", "A", "B", "C", "D", "E", "F", "U")

_BANNER = re.compile(r"\s*(?:Java )?NAS Parallel Benchmarks? ?\(?(?:NPB)?\s*(\d[\w.]*)?")
_TITLE = re.compile(r"\s*(\w[\w.-]*) Benchmark Completed\.?\s*$")
_FACT = re.compile(r"\s?([A-Z][a-z][\w /]*\w|class_npb)\s*=\s+(\S.*)$")
_ALIASES = {"class_npb": "Class", "Active processes": "Active procs"}
"""Names in NPB-CPP and in version 3.4.2."""
_FACTS = {
    *("Class", "Size", "Iterations", "Time in seconds", "Total processes", "Compiled procs", "Active procs"),
    *("Total threads", "Avail threads", "Mop/s total", "Mop/s/process", "Mop/s/thread", "Operation type"),
    *("Verification", "Version", "Compile date", "Number of zones", "Total number of threads"),
    *("Compiler ver", "OpenMP version", *_ALIASES),
}
_DIGITS = re.compile(r"\d+[.,]\d\d$")
_OPTION = re.compile(r"\s+(?:\w*(?:CC|F77|FC)|FLINK|CLINK|\w*_(?:LIB|INC)|\w*FLAGS|RAND)\s+=\s")
_REAL = r"[-+]?\d*\.\d+(?:[EDed][-+]?\d+)?"
_SAID = re.compile(
    r"\s*(?:Size\s*: |Iterations|Eigenvalue shift|iteration\s+\|\|r\|\||No input file|Reading from input file"
    r"|Number of (?:active|available|random|nonzeroes|processes|threads|iterations|zones)|Benchmark completed"
    r"|Zeta is|Error is|VERIFICATION (?:SUCCESSFUL|FAILED)|L2 Norm is|EP Benchmark Results|CPU Time =|N = 2\^"
    r"|No\. Gaussian|Sums = |Counts:|Time step|Verification (?:being performed|test for|Successful|failed)"
    r"|Accuracy setting|accuracy setting|Comparison of|Result verification"
    r"|Initialization time|T =\s+\d+\s+Checksum|class = "
    r"|Total number of processes|Processor array|Layout type|Compile options|Please send|NPB Development Team"
    r"|Internet: npb@|npb@nas|CG iterations|Adaptation frequency|Levels of refinement|Heat source radius|iter\s+\d"
    r"|Step\s+\d+: elements refined|Request(?:ed)? threads|\d+\.DT_\w+\.\w: |DT_\S+ L2 Norm|Deviation ="
    r"|Binary ADC file|View sizes are|Estimated rb-tree|\*\*\* DC Benchmark|Benchmark Time\s+=|Input Tuples|Tuples"
    r"|Number of (?:Views|Tasks)|Checksum\s+="
    rf"|(?:FAILURE: )?(?:\d+\s+)?{_REAL}(?:\s+{_REAL})*\s*$|\d+\s+\d+\.?\s*$)"
    r"|\s+iteration\s*$|\s{8,9}\d+\s*$"
    r"|\s+NPB-CPP is developed by|\s+In case of questions or problems, please"
)
_METRICS = (
    metric("time_s", "s", "time"),
    metric("mops_per_s", "Mop/s", "rate", "higher"),
    metric("mops_per_process_per_s", "Mop/s", "rate of a rank", "higher"),
)


@dataclass
class _Reader(LineReader):
    """Reads the values of a completed kernel."""

    TITLE = "NAS Parallel Benchmarks"
    BEGINS = (_BANNER, _TITLE)
    CLAIMS = (_TITLE,)

    _kernel: str = ""
    _facts: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Values and line numbers by name."""

    def _takes(self, line: TextLine) -> bool:
        if title := _TITLE.match(line.text):
            self._kernel, self._facts = title[1].lower().partition(".")[0], {}
        elif self._kernel and (fact := _FACT.match(line.text)) and fact[1] in _FACTS:
            once(self._facts, _ALIASES.get(fact[1], fact[1]), (fact[2].rstrip(), line.number))
        else:
            return any(pattern.match(line.text) for pattern in (_BANNER, _OPTION, _SAID))
        return True

    def close(self) -> None:
        """Add the values, once the class is known."""
        if not self._kernel:
            return
        if version := self._value("Version"):
            self.versions.append(version)
        time_s = self._value("Time in seconds")
        is_short = _DIGITS.match(time_s) is not None and number(time_s) < SHORTEST_S
        if is_short:
            self.missing.append("enough digits of times below 1 s")
        total = self._whole("Total processes") or 1
        ranks = self._whole("Active procs") or total
        case = self._case(ranks)
        if self._value("Class") not in CLASSES:
            return
        metrics = {"Time in seconds": "time_s", "Mop/s total": "mops_per_s"}
        if ranks == total:
            metrics["Mop/s/process"] = "mops_per_process_per_s"
        for name, metric_ in metrics.items():
            text, line = self._facts.get(name, ("", 0))
            if _DIGITS.match(text) and not (metric_ == "time_s" and is_short):
                self.add(case, number(text), line, metric=metric_)

    def _case(self, ranks: int) -> PrintedFigure:
        """Return Scope's case, or a case of a declaration for what Scope does not have."""
        name, problem_class = f"application.npb_{self._kernel}", self._value("Class")
        known = of_scope().get(name)
        # A program without threads prints none.
        threads = self._whole("Total threads") or self._whole("Total number of threads") or 0
        if known and problem_class in known.parameter["class"].choices and not threads:
            return PrintedFigure(name, {"class": problem_class}, ranks, "", failure=self._failure)
        kernel = re.sub(r"[^a-z0-9]+", "_", self._kernel)
        named = kernel.upper()
        given = [
            Given(parameter("class", "class", CLASSES, role="size"), problem_class),
            Given(parameter("threads", "threads", [0], role="parallel"), threads),
        ]
        summary = f"NAS kernel {named}, measured by its own program"
        case = self.foreign(f"application.nas_{kernel}", summary, _METRICS, given, ranks, f"NAS {named}")
        return replace(case, failure=self._failure)

    @property
    def _failure(self) -> str:
        """Why the result is wrong; empty if verified."""
        verdict = self._value("Verification")
        if not verdict:
            return "the output ends before its verification"
        return "" if verdict == "SUCCESSFUL" else f"verification: {verdict}"

    def _whole(self, name: str) -> int | None:
        text = self._value(name)
        return int(text) if text.isdigit() else None

    def _value(self, name: str) -> str:
        return self._facts.get(name, ("", 0))[0]
