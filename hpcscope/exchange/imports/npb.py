"""NAS Parallel Benchmarks: results of versions 2 to 3.4 (serial, OpenMP or MPI), and of NPB-CPP 4.1.

Lines `name = value` follow ` CG Benchmark Completed.`. Times are seconds of one execution, with two decimals;
Mop/s are 10^6 operations per second, as counted by the kernel (print_results.f). A kernel without threads is a
case of Scope's kernel of the same name; with threads, in a larger class or under another name, it becomes
`application.nas_cg` etc.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.declared import declared as of_scope
from hpcscope.exchange.imports import PrintedFigure, Reading, declared, metric, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import claiming

TITLE = "NAS Parallel Benchmarks"
SHORTEST_S = 1.0
"""Shorter times are printed with too few digits; the rate is more precise."""
CLASSES = ("S", "W", "A", "B", "C", "D", "E", "F", "U")

_BANNER = re.compile(r"\s*(?:Java )?NAS Parallel Benchmarks? ?\(?(?:NPB)?\s*(\d[\w.]*)?")
_TITLE = re.compile(r"\s*(\w[\w.-]*) Benchmark Completed\.?\s*$")
BEGINS = (_BANNER, _TITLE)
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


@dataclass
class _Result:
    """The output after the title of a completed kernel."""

    kernel: str
    facts: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Values and line numbers by name."""

    @property
    def failure(self) -> str:
        """Why the result is wrong; empty if verified."""
        verdict = self._value("Verification")
        if not verdict:
            return "the output ends before its verification"
        return "" if verdict == "SUCCESSFUL" else f"verification: {verdict}"

    @property
    def is_short(self) -> bool:
        """Whether its time is printed with too few digits."""
        time_s = self._value("Time in seconds")
        return _DIGITS.match(time_s) is not None and number(time_s) < SHORTEST_S

    @property
    def threads(self) -> int:
        """Number of threads over all processes; 0 for a program without threads."""
        return self._whole("Total threads") or self._whole("Total number of threads") or 0

    @property
    def benchmark(self) -> str:
        """Name of Scope's benchmark, or of a declaration for one that Scope does not have."""
        name = f"application.npb_{self.kernel}"
        known = of_scope().get(name)
        is_ours = known and self._value("Class") in known.parameter["class"].choices and not self.threads
        return name if is_ours else f"application.nas_{re.sub(r'[^a-z0-9]+', '_', self.kernel)}"

    def figures(self) -> Iterator[PrintedFigure]:
        """Yield the values, once the class is known."""
        problem_class = self._value("Class")
        if problem_class not in CLASSES:
            return
        total = self._whole("Total processes") or 1
        ranks = self._whole("Active procs") or total
        is_own = self.benchmark.startswith("application.npb_")
        figure = PrintedFigure(
            benchmark=self.benchmark,
            parameters={"class": problem_class} if is_own else {"class": problem_class, "threads": self.threads},
            ranks=ranks,
            metric="",
            values=(0.0,),
            statistic="each",
            line=1,
            failure=self.failure,
        )
        metrics = {"Time in seconds": "time_s", "Mop/s total": "mops_per_s"}
        if ranks == total:
            metrics["Mop/s/process"] = "mops_per_process_per_s"
        for name, metric_ in metrics.items():
            text, line = self.facts.get(name, ("", 0))
            if _DIGITS.match(text) and not (metric_ == "time_s" and self.is_short):
                yield replace(figure, metric=metric_, values=(number(text),), line=line)

    def _whole(self, name: str) -> int | None:
        text = self._value(name)
        return int(text) if text.isdigit() else None

    def _value(self, name: str) -> str:
        return self.facts.get(name, ("", 0))[0]


claims = claiming(_TITLE)


def read(lines: Sequence[TextLine]) -> Reading:
    """Return the values of a completed kernel."""
    result: _Result | None = None
    understood: set[int] = set()
    for line in lines:
        if title := _TITLE.match(line.text):
            result = _Result(title[1].lower().partition(".")[0])
        elif result and (fact := _FACT.match(line.text)) and fact[1] in _FACTS:
            once(result.facts, _ALIASES.get(fact[1], fact[1]), (fact[2].rstrip(), line.number))
        elif not (_BANNER.match(line.text) or _OPTION.match(line.text) or _SAID.match(line.text)):
            continue
        understood.add(line.number)
    if result is None:
        return Reading(TITLE, [], understood)
    return Reading(
        program=f"{TITLE} {result.facts.get('Version', ('', 0))[0]}".strip(),
        figures=list(result.figures()),
        understood=understood,
        missing=["enough digits of times below 1 s"] if result.is_short else [],
        benchmarks=[_benchmark(result.benchmark)] if result.benchmark.startswith("application.nas_") else [],
    )


def _benchmark(name: str) -> Benchmark:
    kernel = name.removeprefix("application.nas_").upper()
    return declared(
        name,
        f"NAS {kernel}",
        f"NAS kernel {kernel}, measured by its own program",
        [
            metric("time_s", "s", "time"),
            metric("mops_per_s", "Mop/s", "rate", "higher"),
            metric("mops_per_process_per_s", "Mop/s", "rate of a rank", "higher"),
        ],
        [parameter("class", "class", CLASSES, role="size"), parameter("threads", "threads", [0], role="parallel")],
    )
