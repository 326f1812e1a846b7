"""The kernels of OpenBLAS: each kind that this processor can run is measured, interleaved with those in use."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hpcscope.build import blas
from hpcscope.comparison.kernels import FILE, KernelTuning, Rival
from hpcscope.engine.compare.compare import Kept, Pace, Stage, measure_sides
from hpcscope.engine.compare.sides import MeasuredSide, in_common, planned
from hpcscope.engine.directories import new_directory
from hpcscope.engine.run.run import settle
from hpcscope.errors import UsageError
from hpcscope.machine.machine import Blas
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.rundirectory import FORMAT, write_json, write_text

NAME = "tune-blas"
CASES = (
    "node.matrix_multiply ranks=all precision=double n=1000",
    "node.matrix_multiply ranks=all precision=single n=1000",
)
THRESHOLD = 0.02


@dataclass(frozen=True)
class KernelsTuned:
    """A finished search."""

    path: Path
    tuning: KernelTuning

    @property
    def well(self) -> bool:
        """Whether every kind of kernels has results."""
        return all(rival.measured for rival in self.tuning.rivals)


def tune(mpi: str | None, time_s: float, output: Path | None, stage: Stage, command: list[str]) -> KernelsTuned:
    """Measure products with the kernels in use and, interleaved, each other kind, on all processors of this host.

    `time_s`: for all kinds together. Raises UsageError if the BLAS is not OpenBLAS, or if no time is left.
    """
    # With background load, ranks miss the start of a window, and no sample would be valid.
    given = {"mpi": mpi, "case": CASES, "name": NAME, "sampling.synchronization": "dissemination"}
    now = planned("kernels in use", settle(resolve(None, given), COMMAND_LINE))
    library = now.settled.build.blas
    if library is None or library.name != "OpenBLAS":
        known = blas.described(library) if library else "none"
        raise UsageError(
            f"the BLAS of the native program: {known}; must be OpenBLAS, the only BLAS with {blas.CORETYPE}"
        )
    path = new_directory(NAME, output).path
    setting = os.environ.get(blas.CORETYPE)
    tuning = KernelTuning(
        format=FORMAT,
        library=f"{library.name} {library.version}",
        variable=blas.CORETYPE,
        kernels=library.core,
        setting=setting,
    )
    others = list(_others(library, set(now.settled.machine.hosts[0].processor.flags)))
    for chosen, value in others:
        stage(f"{chosen.core} kernels interleaved with {library.core} kernels")
        other = _with(now, chosen, value)
        kept = Kept(path / chosen.core, command)
        sides = now, other
        pace = Pace(time_s / len(others), THRESHOLD)
        interleaved = measure_sides(sides, in_common(*sides), kept, pace, stage)
        cases = sorted(interleaved.comparison.cases, key=lambda case: "precision=single" in case.a)
        rival = Rival(kernels=chosen.core, setting=value, cases=cases)
        tuning = tuning.model_copy(update={"rivals": [*tuning.rivals, rival]})
    write_json(path / FILE, tuning)
    write_text(path / "tuning.txt", "\n".join(tuning.words) + "\n")
    return KernelsTuned(path, tuning)


def _others(library: Blas, flags: set[str]) -> Iterator[tuple[Blas, str | None]]:
    """Yield the library with each other kind of kernels that this processor can run, and the variable's value."""
    own = blas.with_kernels(library, None)
    seen = {library.core}
    able = [name for name, needed in blas.KERNELS.items() if needed <= flags]
    for setting in ([None] if own else []) + able:
        others = own if setting is None else blas.with_kernels(library, setting)
        # A library that lacks these kernels uses others.
        if others is not None and others.core not in seen and setting in (None, others.core):
            seen.add(others.core)
            yield others, setting


def _with(side: MeasuredSide, library: Blas, setting: str | None) -> MeasuredSide:
    """Return the same cases of the same program with other kernels."""
    settled = side.settled
    build = settled.build.model_copy(update={"blas": library})
    environment = {name: value for name, value in settled.machine.environment.items() if name != blas.CORETYPE}
    if setting is not None:
        environment[blas.CORETYPE] = setting
    machine = settled.machine.model_copy(update={"build": build, "environment": environment})
    changed = replace(settled, build=build, machine=machine)
    return replace(side, name=f"{library.core} kernels", settled=changed, environment={blas.CORETYPE: setting})
