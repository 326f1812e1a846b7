"""Matrix multiplication by the BLAS is far below what the processor can do."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context, figure, written
from scope.findings.run.node.memory_saturated import share
from scope.statistics.summary import Summary

EXPECTED = 0.7
"""Share of the rate on registers that a tuned library reaches with matrices of some hundred rows."""
LARGE_ENOUGH = 500


def find(context: Context) -> list[Finding]:
    """Find the largest products of each precision on one rank that are certainly below 70 % of `node.peak`."""
    rates = [s for s in context.headlines if s.metric == "flops_per_s" and s.ranks == 1]
    peaks: dict[tuple[object, str], Summary] = {}
    for s in rates:
        if s.benchmark == "node.peak" and s.parameters["instructions"] == "widest":
            peaks[s.parameters["precision"], s.placement] = s
    products: dict[tuple[object, str], Summary] = {}
    for s in rates:
        if s.benchmark == "node.matrix_multiply" and int(s.parameters["size"]) >= LARGE_ENOUGH:
            key = (s.parameters["precision"], s.placement)
            if key not in products or int(s.parameters["size"]) > int(products[key].parameters["size"]):
                products[key] = s
    found = [_finding(context, products[key], peaks[key]) for key in products if key in peaks]
    return [finding for finding in found if finding is not None]


def _finding(context: Context, product: Summary, peak: Summary) -> Finding | None:
    reached = share(product, peak)
    if reached.high is None or reached.high >= EXPECTED:
        return None
    blas = context.machine.build.blas if context.machine.build else None
    library = f"{blas.name} {blas.version}".strip() if blas else "the BLAS"
    return Finding(
        code="blas-below-peak",
        severity="advice",
        title=(
            f"{library} multiplies matrices at {units.share(reached.value, reached.low, reached.high)} of the "
            f"processor's {product.parameters['precision']} precision rate ({written(product)} of {written(peak)})"
        ),
        where={"layer": "node", "benchmark": "node.matrix_multiply", "placement": product.placement},
        evidence=[figure(product), figure(peak)],
        advice="A library tuned for this processor reaches 80 % and more. See which kernels it chose "
        "(`scope doctor`), and compare another: docs/how-to/blas.md.",
        lost=1 - reached.value,
    )
