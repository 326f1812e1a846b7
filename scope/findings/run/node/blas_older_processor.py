"""The BLAS chose the kernels of a processor that has shorter vectors than this one."""

from __future__ import annotations

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.machine.machine import Host

BITS_OF_CORE = {
    **dict.fromkeys(("prescott", "core2", "penryn", "nehalem", "barcelona", "generic"), 128),
    **dict.fromkeys(("sandybridge", "bulldozer", "piledriver", "steamroller"), 256),
    **dict.fromkeys(("haswell", "excavator", "zen"), 256),
    **dict.fromkeys(("skylakex", "cooperlake", "sapphirerapids"), 512),
}
"""Widest vectors of the kernels that OpenBLAS has for the x86-64 processors it knows (its kernel/x86_64)."""
SUGGESTED = {256: "Haswell", 512: "SkylakeX"}


def find(context: Context) -> list[Finding]:
    """Compare the vectors of the chosen kernels with those of the first host, which chose them."""
    blas = context.machine.build.blas if context.machine.build else None
    if blas is None or blas.name != "OpenBLAS" or not context.machine.hosts:
        return []
    used = BITS_OF_CORE.get(blas.core.lower())
    host = context.machine.hosts[0]
    there = vector_bits(host)
    if used is None or there is None or used >= there:
        return []
    return [
        Finding(
            code="blas-older-processor",
            severity="advice",
            title=f"{blas.name} {blas.version} chose its kernels for {blas.core} with {used} bit vectors; "
            f"{host.processor.model} has {there} bit",
            where={"layer": "node", "host": host.name, "library": blas.library},
            evidence=[
                Evidence(what="kernels chosen", value=blas.core),
                Evidence(what="vectors of the kernels", value=used, unit="bit"),
                Evidence(what="vectors of the processor", value=there, unit="bit"),
            ],
            advice="It does not know this processor by name. Compare "
            f"`OPENBLAS_CORETYPE={SUGGESTED[there]} scope run node.matrix_multiply node.peak`, and set "
            "the variable where programs run if that is faster, or take a newer library.",
        )
    ]


def vector_bits(host: Host) -> int | None:
    """Return the widest vectors of an x86-64 processor; None for others."""
    if host.processor.architecture != "x86_64":
        return None
    flags = set(host.processor.flags)
    return 512 if "avx512f" in flags else 256 if "avx2" in flags else 128
