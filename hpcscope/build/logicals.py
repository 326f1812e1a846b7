"""Whether MPI's reductions of Fortran's LOGICAL are right for the Fortran compilers of this host.

Compilers differ in the bits of .true. (1, or -1) and in which bits read as true. A reduction that knows another
compiler's bits than the program's may always give .false. (the source of GAMMA's Appendix E warns of that).
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build import single_source
from hpcscope.commands import captured
from hpcscope.errors import ScopeError
from hpcscope.machine.machine import MpiInstallation

COMPILERS = (
    *("gfortran", "flang", "flang-new", "nvfortran", "pgfortran", "ifx", "ifort", "nagfor"),
    *("armflang", "crayftn", "xlf"),
)
FOLDER = Path(__file__).parent
PATIENCE_S = 30.0
OPERATIONS = {
    "MPI_LAND": lambda one, other: one and other,
    "MPI_LOR": lambda one, other: one or other,
    "MPI_LXOR": lambda one, other: one != other,
}
OPERANDS = (True, False)
REDUCTIONS = len(OPERATIONS) * len(OPERANDS) ** 2


@dataclass(frozen=True)
class Logicals:
    """How a Fortran compiler represents LOGICAL."""

    compiler: str
    program: Path
    """A program that prints how integers read as LOGICAL."""
    true: int
    false: int

    def read(self, bits: Sequence[int]) -> list[bool]:
        """Return for each of these integers whether the compiler's programs read it as .true."""
        said = _run([str(self.program)], "".join(f"{bit}\n" for bit in bits))[2:]
        return [word == "T" for word in said]


def compilers() -> list[str]:
    """Return the Fortran compilers on PATH."""
    return [name for name in COMPILERS if shutil.which(name)]


def of(compiler: str) -> Logicals:
    """Return how a compiler represents LOGICAL; ScopeError if its programs do not work."""
    program = single_source.compiled(FOLDER / "logicals.f90", [str(shutil.which(compiler))], flags=("-O0",))
    try:
        true, false = map(int, _run([str(program)]))
    except ValueError as error:
        raise ScopeError(f"{compiler}: the program it compiled did not print two integers") from error
    return Logicals(compiler, program, true, false)


def wrong(logicals: Logicals, mpi: MpiInstallation) -> list[str] | None:
    """Return the reductions that a compiler's programs would read wrongly; None for an MPI without Fortran.

    Raises ScopeError if the program does not compile or run.
    """
    source = FOLDER / "logicals_reduced.cpp"
    program = single_source.compiled(source, [mpi.compiler], [mpi.name, mpi.version])
    said = _run([str(program), str(logicals.true), str(logicals.false)])
    if said == ["none"]:
        return None
    cases = [(name, operand, other) for name in OPERATIONS for operand in OPERANDS for other in OPERANDS]
    read = logicals.read([int(word) for word in said])
    if len(read) != len(cases):
        raise ScopeError(f"{logicals.compiler}, {mpi.name}: {len(read)} results instead of {len(cases)}")
    return [
        f"{name} of {_fortran(one)} and {_fortran(other)} gives {_fortran(result)}"
        for (name, one, other), result in zip(cases, read, strict=True)
        if result != OPERATIONS[name](one, other)
    ]


def _fortran(value: bool) -> str:
    return ".true." if value else ".false."


def _run(words: Sequence[str], given: str = "") -> list[str]:
    try:
        ended = captured(words, PATIENCE_S, input=given)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ScopeError(f"{words[0]}: {error}") from error
    if ended.returncode != 0:
        raise ScopeError(f"{words[0]}: ended with {ended.returncode}: {ended.stderr.strip()[-200:]}")
    return ended.stdout.split()
