"""The program with a fault of known place, compiled and started under the monitor."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.monitored_run import Options, run
from hpcscope.programs.profiles.records import Merged
from tests.monitored_ring import AS_ROOT
from tests.patience import PATIENCE_S

RANKS = 3
SOURCE = Path(__file__).with_name("faulty.cpp")


@dataclass(frozen=True)
class Faulty:
    """The compiled program, and where its profiles go."""

    launch: list[str]
    folder: Path

    @classmethod
    def compiled(cls, mpi: MpiInstallation, folder: Path) -> Faulty:
        program = folder / "faulty"
        subprocess.run([mpi.compiler, "-std=c++17", "-g", "-o", program, SOURCE], check=True, timeout=PATIENCE_S)
        return cls([str(mpi.launcher), "--map-by", ":oversubscribe", "-n", str(RANKS), str(program)], folder)

    def profile(self, fault: str, rounds: int, *words: str, trace: str = "0:0", number: int = 0) -> Merged:
        """Run the program with a fault to its end and return its profile."""
        place = self.folder / f"{fault}{number}"
        # A process that waits must let the others go on, or it is they that come late. Without the fabrics, which
        # take a second to find that there are none.
        own = {"mpi_yield_when_idle": "1", "pml": "ob1", "btl": "self,sm"}
        environment = {**AS_ROOT, **{f"OMPI_MCA_{name}": value for name, value in own.items()}}
        command = [*self.launch, fault, str(rounds), *words]
        ended = run(command, place, Options(trace=trace), environment=environment, timeout_s=PATIENCE_S)
        assert ended.code == 0
        return merge(place)
