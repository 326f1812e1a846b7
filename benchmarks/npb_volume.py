"""Do the NAS kernels send more than the public reference? Both whole programs under the monitor, counted alike.

The reference (NPB 3.4 MPI, built elsewhere for the same MPI) is a folder of its programs, `lu.S.x` and so on. Ours
is what each further repetition in a launch sends: the data set up, the untimed iteration and the timed part, as in
the reference, the comparison with the published values, and some short messages that start and end a repetition.
The program is the one without marks between phases, as those are told to the other processes afterwards. Beside
it stands what the kernel itself counts in its timed part. Of a collective each process's contribution counts.
EP sends but twelve sums: its row shows what a repetition of any benchmark costs. Wanted of the others: no more
than the reference.
usage: python benchmarks/npb_volume.py --reference FOLDER --mpi NAME [--class S] [--ranks 4] [--kernels lu,bt]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launches import Pair
from npb_phase_cost import SWITCH
from npb_speed import KERNELS

from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command

PATIENCE_S = 300
MANY = 5


@dataclass(frozen=True)
class Volume:
    """What all processes of a program sent."""

    messages: float
    """Point to point."""
    message_bytes: float
    collectives: float
    """Calls of all processes."""
    collective_bytes: float

    @property
    def total_bytes(self) -> float:
        """Of both."""
        return self.message_bytes + self.collective_bytes

    def less(self, other: Volume, repetitions: int) -> Volume:
        """Return what is more than the other, for each of so many repetitions."""
        return Volume(
            (self.messages - other.messages) / repetitions,
            (self.message_bytes - other.message_bytes) / repetitions,
            (self.collectives - other.collectives) / repetitions,
            (self.collective_bytes - other.collective_bytes) / repetitions,
        )


@dataclass(frozen=True)
class Launch:
    """A launch of ours."""

    sent: Volume
    repetitions: int
    counted_bytes: float
    """By the kernel itself, in the timed part of a repetition."""


def main() -> None:
    """Print one row for each kernel."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reference", type=Path, required=True)
    arguments.add_argument("--mpi", help="The MPI that the reference was built with.")
    arguments.add_argument("--class", dest="problem", default="S")
    arguments.add_argument("--ranks", type=int, default=4)
    arguments.add_argument("--kernels", default=",".join(KERNELS))
    asked = arguments.parse_args()
    os.environ["CXXFLAGS"] = f"{os.environ.get('CXXFLAGS', '')} {SWITCH}".strip()
    pair = Pair(asked.mpi)
    print(f"{pair.mpi.name} {pair.mpi.version}, class {asked.problem} on {asked.ranks} processes, all together")
    heads = ("messages", "reference", "ratio", "sent kB", "reference", "ratio", "collectives", "reference", "kB")
    print(f"{'kernel':<7}" + "".join(f"{head:>12}" for head in (*heads, "reference", "all bytes", "timed kB")))
    for kernel in asked.kernels.split(","):
        reference = volume(pair, asked.ranks, [str((asked.reference / f"{kernel}.{asked.problem}.x").resolve())])
        more, less = (own(pair, kernel, asked.problem, asked.ranks, count) for count in (MANY, 1))
        ours = more.sent.less(less.sent, more.repetitions - less.repetitions)
        print(row(kernel, ours, reference, less.counted_bytes), flush=True)


def row(kernel: str, ours: Volume, theirs: Volume, counted_bytes: float) -> str:
    """Write a kernel's figures and their ratios."""
    words = [f"{ours.messages:.0f}", f"{theirs.messages:.0f}", ratio(ours.messages, theirs.messages)]
    words += [f"{ours.message_bytes / 1e3:.1f}", f"{theirs.message_bytes / 1e3:.1f}"]
    words += [ratio(ours.message_bytes, theirs.message_bytes)]
    words += [f"{ours.collectives:.0f}", f"{theirs.collectives:.0f}"]
    words += [f"{ours.collective_bytes / 1e3:.1f}", f"{theirs.collective_bytes / 1e3:.1f}"]
    words += [ratio(ours.total_bytes, theirs.total_bytes), f"{counted_bytes / 1e3:.1f}"]
    return f"{kernel:<7}" + "".join(f"{word:>12}" for word in words)


def ratio(ours: float, theirs: float) -> str:
    """Write ours over theirs where there is any."""
    return f"{ours / theirs:.3f}" if theirs else "–"


def own(pair: Pair, kernel: str, problem: str, ranks: int, repetitions: int) -> Launch:
    """Return what a launch of ours with about so many repetitions sends."""
    folder = Path(pair.directory.name)
    plan, output = folder / "plan.txt", folder / "samples.jsonl"
    many = f"sampling.minimum_repetitions={repetitions} sampling.maximum_repetitions={repetitions}"
    plan.write_text(f"application.npb_{kernel} class={problem} {many} sampling.budget_s={PATIENCE_S}\n")
    output.unlink(missing_ok=True)
    sent = volume(pair, ranks, [pair.native, "--action=run", f"--plan={plan}", f"--output={output}"])
    (case,) = [one for line in output.read_text().splitlines() if (one := json.loads(line))["record"] == "case"]
    if case["status"] != "ok":
        raise SystemExit(f"application.npb_{kernel} on {ranks}: {case['status']}: {case['reason']}")
    return Launch(sent, len(case["series"][0]["elapsed_s"][0]), case["work"]["bytes"])


def volume(pair: Pair, ranks: int, program: list[str]) -> Volume:
    """Run a program under the monitor and return what its profile says was sent."""
    job = MpiProgram(program[0], tuple(program[1:]), ranks, oversubscribed=True)
    command = start_command(job, Site(pair.mpi, pair.mpi.launcher))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "monitored"
        words = [sys.executable, "-m", "hpcscope", "monitor", "--against", "none", "-o", str(run), "--"]
        environment = {**os.environ, **command.environment}
        subprocess.run(
            [*words, *command.arguments], env=environment, check=True, timeout=PATIENCE_S, capture_output=True
        )
        profile = json.loads((run / "profile.json").read_text())
    return sent(profile)


def sent(profile: dict[str, Any]) -> Volume:
    """Add up the processes and the collectives of a profile."""
    collectives = [one for one in profile["calls"] if one["kind"] == "collective"]
    return Volume(
        sum(one["sent_messages"] for one in profile["processes"]),
        sum(one["sent_bytes"] for one in profile["processes"]),
        sum(one["calls"] for one in collectives),
        sum(one["bytes"] for one in collectives),
    )


if __name__ == "__main__":
    main()
