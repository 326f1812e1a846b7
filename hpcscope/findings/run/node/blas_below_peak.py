"""Matrix multiplication with the BLAS is far below the peak of the processor."""

from hpcscope import units
from hpcscope.build.blas import CORETYPE
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each, written
from hpcscope.findings.run.node.blas_older_processor import CAUSE
from hpcscope.findings.run.node.memory_saturated import share
from hpcscope.statistics.estimate import in_percent
from hpcscope.statistics.summary import Summary

PRODUCT, PEAK = "node.matrix_multiply", "node.peak"
TUNED = 0.8
EXPECTED = 0.7
"""Fraction of the peak that a tuned library reaches for N of some hundred."""
LARGE_ENOUGH = 500


def find(run: Run) -> list[Finding]:
    """Find the largest products of each precision on one rank below 70 % of the peak at 95 % confidence."""
    measured = run.measurements
    peaks = {_key(s): s for s in measured.of(PEAK, "flops_per_s", {"instructions": "widest"}) if s.ranks == 1}
    products = [
        s for s in measured.of(PRODUCT, "flops_per_s") if s.ranks == 1 and measured.size(s) >= LARGE_ENOUGH
    ]
    largest = largest_of_each(products, _key, measured.size)
    findings = [_finding(run, product, peaks[_key(product)]) for product in largest if _key(product) in peaks]
    return [finding for finding in findings if finding is not None]


def _key(case: Summary) -> tuple[object, ...]:
    return case.parameters["precision"], case.placement


def _finding(run: Run, product: Summary, peak: Summary) -> Finding | None:
    reached = share(product, peak)
    if reached.high is None or reached.high >= EXPECTED:
        return None
    blas = run.machine.build.blas if run.machine.build else None
    library = f"{blas.name} {blas.version}".strip() if blas else "the BLAS"
    return Finding(
        code="blas-below-peak",
        cause=CAUSE,
        severity="advice",
        title=(
            f"{library} multiplies matrices at {in_percent(reached)} of the "
            f"processor's {product.parameters['precision']} precision rate ({written(product)} of {written(peak)})"
        ),
        where={"layer": "node", "benchmark": PRODUCT, "placement": str(product.placement)},
        evidence=run.evidence(product, peak),
        advice=f"{_advice(run)} A tuned library reaches 80 % and more: products would take "
        f"{units.share(1 - reached.value / TUNED)} less time.",
        lost=1 - reached.value,
    )


def _advice(run: Run) -> str:
    blas = run.machine.build.blas if run.machine.build else None
    if blas is None or blas.name != "OpenBLAS":
        return "Compare another library: docs/how-to/linpack-nas.md."
    told = run.machine.environment.get(CORETYPE)
    chosen = f"{CORETYPE}={told}" if told else "the library"
    return f"Measure kernels other than {chosen}'s choice: `scope tune blas`."
