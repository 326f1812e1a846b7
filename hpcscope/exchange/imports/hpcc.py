"""HPC Challenge: the summary at the end of hpccoutf.txt, versions 1.0 to 1.5.

Gflops and GB/s are 10^9, GUPs 10^9 updates per second. `Single` is the value of one process that runs alone, and
`Star` the mean over all processes that run at once; STREAM is the best of nine passes, PTRANS the worst of
its repetitions; all others are from one execution (io.c, STREAM/stream.c, PTRANS/pdtransdriver.c). `Success=0` is
printed if any test was wrong, without saying which.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Benchmark, Metric, Value
from hpcscope.exchange.imports import BANDWIDTH, FLOPS, PrintedFigure, declared, hpl, metric, parameter, stream
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Statistic

_GIGA, _US = 9, -6
_REPETITIONS = 9
_ROUNDED = 1e-2
"""Relative tolerance, because times have two decimals."""

_TITLE = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (\S+)")
_ENTRY = re.compile(
    r"((?:Version|LANG|Success|sizeof_|CommWorldProcs|MPI_Wtick|HPL|dweps|sweps|DGEMM|Star|Single|PTRANS|STREAM"
    r"|FFT|MPIRandomAccess|MPIFFT|RandomAccess|(?:Max|Min|Avg)PingPong|(?:Randomly|Naturally)Ordered|M_OPENMP"
    r"|omp_get|Mem(?:Proc|Spec|Val)|CPS_)\w*)=(\S*)\s*$"
)
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?(?:e[+-]\d\d)?$")
_HOST = re.compile(r"Hostname: '(.*)'")
_MOMENT = re.compile(r"Current time \((\d+)\) is ")
_SAID = re.compile(
    r"Produced by Jack Dongarra|Innovative Computing|University of Tennessee|See the source files|Compiled on "
    r"|(?:Begin|End) of \w+ section\.|End of HPC Challenge tests"
    # The sections, whose values the summary repeats.
    r"|Running on \d|(?:Total |PE )?Main table size|Default number of up|Number of updates|(?:CPU|Real) time used"
    r"|[\d.]+ Billion|Verification:|Found \d+ errors|Node\(s\) with error|Node selected|Scaled residual:"
    r"|(?:Minimum|Average|Maximum|Single) \w|(?:[MNPQ]|[MN]B): |TIME\s+M|(?:WALL|CPU ) +\d|END OF TESTS"
    r"|Number of nodes:|Vector size:|Generation time:|Tuning:|Computing:|Inverse FFT:|max\(\|x-x0|Gflop/s:"
    r"|Latency-Bandwidth-B|Written by Rolf|Details - |Max\. MPI_Wtick|MPI_Wtime|wtick is|Message (?:Length|Size):"
    r"|Latency   min|Bandwidth min|Use MPI_W|message size:|max (?:time|number of|client)|(?:latency|stride) for "
    r"|estimation for|(?:Natural|Avg Random) Order|Execution time \(|\s- for (?:cross|ring)|(?:Major|Detailed) "
    r"|(?:Max|Min) Ping Pong|(?:Randomly|Naturally)\s+Ordered|Ping Pong:|Ring:|On (?:naturally|randomly)"
    r"|Benchmark cond| The (?:latency|bandwidth|ring|Ping)|\s+-\s+\d+ pairs| out of \d|\s\(1 MB/s"
    r"|The SCALAR value|Each test is run \d+ times|VERBOSE: |(?:Copy|Scale|Add|Triad): +\d|Array size = \d+"
    r"|This system uses|Solution Validates|\s+\d+ tests|Results Comparison:|\s+(?:Expected|Observed)  : "
)


@dataclass(frozen=True)
class _Measure:
    """Meaning of a key of the summary; `Single` is measured on one process while the others wait."""

    benchmark: str
    size: str = ""
    """Key that holds `n`."""
    parameters: dict[str, Value] = field(default_factory=dict)
    statistic: Statistic = "each"


_UNITS = {
    "Gflops": (FLOPS, _GIGA),
    "GUPs": (metric("updates_per_s", "1/s", "updates per second", "higher"), _GIGA),
    "usec": (metric("latency_s", "s", "latency"), _US),
}
"""Metric and power of ten by the unit at the end of a key; all other keys are bandwidths."""


def _metric(key: str) -> tuple[Metric, int]:
    return _UNITS.get(key.rpartition("_")[2], (BANDWIDTH, _GIGA))


def _measures() -> dict[str, _Measure]:
    measures = {
        "PTRANS_GBs": _Measure("algorithm.hpcc_ptrans", "PTRANS_n", statistic="minimum"),
        "MPIFFT_Gflops": _Measure("algorithm.hpcc_fft", "MPIFFT_N"),
        "SingleDGEMM_Gflops": _Measure("node.matrix_multiply", "DGEMM_N", {"precision": "double"}),
        "StarDGEMM_Gflops": _Measure("node.hpcc_star_dgemm", "DGEMM_N"),
        "SingleFFT_Gflops": _Measure("node.hpcc_fft", "FFT_N"),
        "StarFFT_Gflops": _Measure("node.hpcc_star_fft", "FFT_N"),
    }
    for name in ("", "_LCG"):
        way: dict[str, Value] = {"generator": "linear" if name else "polynomial"}
        of_all, size = f"MPIRandomAccess{name}_N", f"RandomAccess{name}_N"
        measures |= {
            f"MPIRandomAccess{name}_GUPs": _Measure("algorithm.hpcc_random_access", of_all, way),
            f"StarRandomAccess{name}_GUPs": _Measure("node.hpcc_star_random_access", size, way),
            f"SingleRandomAccess{name}_GUPs": _Measure("node.hpcc_random_access", size, way),
        }
    for printed, kernel in stream.KERNELS.items():
        for which, benchmark in (("Star", "node.hpcc_star_stream"), ("Single", stream.BENCHMARK)):
            measures[f"{which}STREAM_{printed}"] = _Measure(benchmark, "", {"kernel": kernel}, "maximum")
    for which, pair in (("Min", "lowest"), ("Avg", "mean"), ("Max", "highest")):
        for figure in ("Latency_usec", "Bandwidth_GBytes"):
            measures[f"{which}PingPong{figure}"] = _Measure("mpi.hpcc_ping_pong", "", {"pair": pair})
    for which, order in (("Naturally", "natural"), ("Randomly", "random")):
        for figure in ("Latency_usec", "Bandwidth_GBytes"):
            measures[f"{which}OrderedRing{figure}"] = _Measure("mpi.hpcc_ring", "", {"order": order})
    return measures


_MEASURES = _measures()


@dataclass
class _Summary:
    """Values and lines of a summary's keys."""

    entries: dict[str, tuple[str, int]] = field(default_factory=dict)

    def figures(self) -> Iterator[PrintedFigure]:
        """Yield the values of all tests that ran."""
        ranks = self._whole("CommWorldProcs")
        if not ranks:
            return
        success = self._text("Success")
        failure = {"1": "", "0": "a test of the run failed: Success=0"}.get(
            success, "the summary does not report success"
        )
        yield from (replace(printed, failure=failure) for printed in self._linpack())
        for key, one in _MEASURES.items():
            of, exponent = _metric(key)
            value = self._value(key, exponent)
            parameters = self._parameters(one)
            if value is not None and value > 0 and parameters is not None:
                threads = self._whole("STREAM_Threads") or 1 if one.benchmark == stream.BENCHMARK else 1
                yield PrintedFigure(
                    benchmark=one.benchmark,
                    parameters=parameters,
                    ranks=threads if key.startswith("Single") else ranks,
                    metric=of.name,
                    values=(value,),
                    statistic=one.statistic,
                    line=self.entries[key][1],
                    repetitions=_REPETITIONS if one.statistic == "maximum" else None,
                    failure=failure,
                )

    def _parameters(self, one: _Measure) -> dict[str, Value] | None:
        """Return the parameters of a measure; None if the summary lacks its size."""
        if "kernel" not in one.parameters:
            size = self._whole(one.size)
            if size is None:
                return None if one.size else one.parameters
            return {**one.parameters, "n": size}
        elements = self._whole("STREAM_VectorSize")
        threads = self._whole("STREAM_Threads") or 1
        return None if elements is None else {**one.parameters, "array_bytes": elements * 8 // threads}

    def _linpack(self) -> Iterator[PrintedFigure]:
        names = ("HPL_N", "HPL_NB", "HPL_nprow", "HPL_npcol", "HPL_depth", "HPL_ctop")
        numbers = [self._whole(name) for name in names]
        if None in numbers:
            return
        n, block, rows, columns, depth, broadcast = (one or 0 for one in numbers)
        order = hpl.ORDERS.get(self._text("HPL_order"), "rows")
        if not (n and rows and columns and broadcast < len(hpl.BROADCASTS)):
            return
        case = hpl.case(n, block, (rows, columns), (order, depth, broadcast), "")
        for key, metric_, exponent in (("HPL_Tflops", "flops_per_s", 12), ("HPL_time", "time_s", 0)):
            value = self._value(key, exponent)
            if value is not None and value > 0:
                yield replace(case, metric=metric_, values=(value,), line=self.entries[key][1])

    def _text(self, key: str) -> str:
        return self.entries.get(key, ("", 0))[0]

    def _value(self, key: str, exponent: int) -> float | None:
        text = self._text(key)
        return number(text, exponent) if _NUMBER.match(text) else None

    def _whole(self, key: str) -> int | None:
        text = self._text(key)
        return int(text) if text.isdigit() else None


@dataclass
class _Reader(LineReader):
    """Reads the values of all summaries, and of HPL problems that no summary has; other sections repeat them."""

    TITLE = "HPC Challenge"
    BEGINS = (_TITLE,)
    CLAIMS = (_TITLE, re.compile("CommWorldProcs="))
    """The title of the suite, and a key that only its summary has."""
    LACKS = ("the check of each test",)

    benchmarks: list[Benchmark] = field(default_factory=lambda: _benchmarks())
    _lines: list[TextLine] = field(default_factory=list)
    _summaries: list[_Summary] = field(default_factory=list)

    def _takes(self, line: TextLine) -> bool:
        self._lines.append(line)
        if line.ended and (entry := _ENTRY.match(line.text)):
            if not self._summaries or entry[1] in self._summaries[-1].entries:
                self._summaries.append(_Summary())
            self._summaries[-1].entries[entry[1]] = entry[2], line.number
        elif title := _TITLE.match(line.text):
            self.versions.append(title[1])
        elif host := _HOST.match(line.text):
            self.hosts.append(host[1])
        elif moment := _MOMENT.match(line.text):
            self.began(float(moment[1]))
        else:
            return bool(_SAID.match(line.text)) or hpl.said(line.text) or stream.said(line.text)
        return True

    def close(self) -> None:
        """Add the values of the summaries; without a summary, solved problems belong to HPL."""
        if not self._summaries:
            return
        self.figures = [printed for summary in self._summaries for printed in summary.figures()]
        # HPL may have solved several problems; the summary has one.
        solved = hpl.solved(self._lines)
        if not any(printed.benchmark in (hpl.BENCHMARK, hpl.OTHER) for printed in self.figures):
            solved = [replace(printed, failure="the summary of all tests is truncated") for printed in solved]
        self.figures += _beside_summaries(solved, self.figures)


def _beside_summaries(solved: Sequence[PrintedFigure], figures: Sequence[PrintedFigure]) -> list[PrintedFigure]:
    """Return HPL's rates and times that no summary has; a summary has those of one problem with more digits."""
    left = [printed for printed in solved if printed.metric != "residual"]
    for printed_figure in figures:
        same = [printed for printed in left if _problem(printed) == _problem(printed_figure)]
        near = [
            printed
            for printed in same
            if math.isclose(printed_figure.values[0], printed.values[0], rel_tol=_ROUNDED)
        ]
        if near:
            left.remove(min(near, key=lambda one: abs(one.values[0] - printed_figure.values[0])))
    return left


def _problem(printed: PrintedFigure) -> tuple[object, ...]:
    return printed.metric, *(printed.parameters.get(size) for size in ("n", "block", "grid_rows", "grid_columns"))


def _benchmarks() -> list[Benchmark]:
    """Return the declarations for tests that Scope does not have."""
    parameters = {
        "n": parameter("n", "elements", [0], role="size"),
        "array_bytes": parameter("array_bytes", "array size", [0], "B", "size"),
        "kernel": parameter("kernel", "kernel", list(stream.KERNELS.values())),
        "generator": parameter("generator", "random numbers", ["polynomial", "linear"]),
        "pair": parameter("pair", "of all pairs", ["lowest", "mean", "highest"]),
        "order": parameter("order", "order of ranks", ["natural", "random"]),
    }
    declarations = [
        ("algorithm.hpcc_ptrans", "HPCC PTRANS", "transposition of a distributed matrix", "n"),
        ("algorithm.hpcc_fft", "HPCC MPIFFT", "one-dimensional Fourier transform of all ranks", "n"),
        ("algorithm.hpcc_random_access", "HPCC RandomAccess", "updates of a distributed table", "n generator"),
        ("node.hpcc_star_dgemm", "HPCC StarDGEMM", "matrix product, mean over all ranks", "n"),
        ("node.hpcc_fft", "HPCC SingleFFT", "Fourier transform of one rank", "n"),
        ("node.hpcc_star_fft", "HPCC StarFFT", "Fourier transform, mean over all ranks", "n"),
        ("node.hpcc_random_access", "HPCC SingleRandomAccess", "updates of a table, one rank", "n generator"),
        ("node.hpcc_star_random_access", "HPCC StarRandomAccess", "updates, mean over all ranks", "n generator"),
        ("node.hpcc_star_stream", "HPCC StarSTREAM", "STREAM, mean over all ranks", "array_bytes kernel"),
        ("mpi.hpcc_ping_pong", "HPCC ping-pong", "ping-pong of 8 B and 2 MB over pairs of ranks", "pair"),
        ("mpi.hpcc_ring", "HPCC ring", "exchange of 8 B and 2 MB with both neighbors", "order"),
    ]
    benchmarks = [hpl.benchmark()]
    for name, title, summary, words in declarations:
        measured = [_metric(key)[0] for key, one in _MEASURES.items() if one.benchmark == name]
        metrics = list({of.name: of for of in measured}.values())
        given = [parameters[word] for word in words.split()]
        benchmarks.append(declared(name, title, summary, metrics, given))
    return benchmarks
