"""The BLAS chose kernels for a processor with shorter vectors than this one."""

from hpcscope.build.blas import CORETYPE
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Host

BITS_OF_CORE = {
    **dict.fromkeys(("prescott", "core2", "penryn", "nehalem", "barcelona", "generic"), 128),
    **dict.fromkeys(("sandybridge", "bulldozer", "piledriver", "steamroller"), 256),
    **dict.fromkeys(("haswell", "excavator", "zen"), 256),
    **dict.fromkeys(("skylakex", "cooperlake", "sapphirerapids"), 512),
}
"""Vector width of the kernels that OpenBLAS has for x86-64 processors (its kernel/x86_64)."""
LIBRARIES = {"blas", "lapack", "scalapack"}
"""Requirements of linear-algebra benchmarks."""
CAUSE = "kernels of the BLAS"


def find(run: Run) -> Found:
    """Compare the vector width of the chosen kernels with the first host's, on which the library chose them."""
    blas = run.machine.build.blas if run.machine.build else None
    if blas is None or blas.name != "OpenBLAS" or not run.machine.hosts or not _is_used(run):
        return
    used = BITS_OF_CORE.get(blas.core.lower())
    host = run.machine.hosts[0]
    there = vector_bits(host)
    if used is None or there is None or used >= there:
        return
    told = run.machine.environment.get(CORETYPE)
    who = f"{CORETYPE}={told} makes {blas.name} use" if told else f"{blas.name} {blas.version} chose"
    yield Finding(
        code="blas-older-processor",
        cause=CAUSE,
        severity="advice",
        title=f"{who} its {blas.core} kernels with {used}-bit vectors; "
        f"{host.processor.model} has {there}-bit vectors",
        where={"layer": "node", "host": host.name, "library": blas.library},
        evidence=[
            Evidence(what="kernels chosen", value=blas.core),
            Evidence(what="vector width of the kernels", value=used, unit="bit"),
            Evidence(what="vector width of the processor", value=there, unit="bit"),
        ],
        advice=_advice(told),
    )


def _is_used(run: Run) -> bool:
    """Return whether the run measured linear algebra: to other benchmarks the kernels make no difference."""
    measured = {summary.benchmark for summary in run.statistics}
    return any(LIBRARIES.intersection(run.benchmarks[name].requires) for name in measured)


def _advice(told: str | None) -> str:
    why = "The setting chose these kernels." if told else "The library does not recognize this processor."
    return (
        f"{why} `scope tune blas` measures all kernels that this processor can run, and prints what to set."
        " If the library has no faster kernels, use a newer library."
    )


def vector_bits(host: Host) -> int | None:
    """Return the widest vectors of an x86-64 processor; None for others."""
    if host.processor.architecture != "x86_64":
        return None
    flags = set(host.processor.flags)
    return 512 if "avx512f" in flags else 256 if "avx2" in flags else 128
