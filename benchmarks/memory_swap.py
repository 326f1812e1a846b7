"""Whether a case that swaps is named: a memory limit makes it, and a smaller case stays in memory.

Makes a swap file and a memory control group (version 1 or 2; root), copies arrays of two sizes inside the limit,
and prints the finding.
usage: python benchmarks/memory_swap.py [--limit-mib N] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCOPE = str(Path(sysconfig.get_path("scripts")) / "scope")
SWAP_MIB = 256
PROGRAM = "scope-measure"
SIZES = "1Mi,28Mi"
"""One that fits below the limit, and one that does not; below 64 MiB the program asks for no memory beforehand."""


def main() -> None:
    """Print the finding; exit with 1 where there is none."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--limit-mib", type=int, default=40)
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    asked = arguments.parse_args()
    with (
        swap_file(asked.folder),
        control_group(asked.limit_mib) as group,
        tempfile.TemporaryDirectory(prefix="scope-swap-", dir=asked.folder) as folder,
    ):
        run = Path(folder) / "run"
        measure(run, group)
        findings = json.loads((run / "findings.json").read_text())
    named = [one for one in findings["findings"] if one["code"] == "memory-swapped"]
    for one in named:
        print(one["title"])
        for fact in one["evidence"]:
            print(f"  {fact['what']}: {fact['value']} {fact.get('unit', '')}")
    sys.exit(0 if named else 1)


@contextmanager
def swap_file(folder: Path) -> Iterator[None]:
    """Make a swap file for as long as this lasts."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix="scope-swap-") as file:
        os.posix_fallocate(file.fileno(), 0, SWAP_MIB << 20)
        subprocess.run(["mkswap", file.name], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["swapon", file.name], check=True)
        try:
            yield
        finally:
            subprocess.run(["swapoff", file.name], check=True)


@contextmanager
def control_group(limit_mib: int) -> Iterator[Path]:
    """Make a group of processes whose memory is limited."""
    first = Path("/sys/fs/cgroup/memory")
    group = (first if first.is_dir() else first.parent) / f"scope-swap-{os.getpid()}"
    group.mkdir()
    limit = group / ("memory.limit_in_bytes" if first.is_dir() else "memory.max")
    limit.write_text(str(limit_mib << 20))
    if first.is_dir():
        (group / "memory.swappiness").write_text("100")
    try:
        yield group
    finally:
        group.rmdir()


def measure(run: Path, group: Path) -> None:
    """Measure the memory copy at both sizes, the ranks inside the group from soon after their start."""
    case = f"node.memory_copy ranks=1 array_bytes={SIZES}"
    options = ["--case", case, "--launches", "3", "--budget", "1", "--output", str(run), "--mpi", "embedded"]
    options += ["--limit", "120"]
    with subprocess.Popen([SCOPE, "run", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as started:
        entered: set[str] = set()
        while started.poll() is None:
            for rank in ranks_below(started.pid) - entered:
                with suppress(OSError):  # one that has ended meanwhile
                    (group / "cgroup.procs").write_text(rank)
                    entered.add(rank)
            time.sleep(0.01)
        said = started.stdout.read().decode() if started.stdout else ""
    if started.returncode:
        sys.exit(said)


def ranks_below(ancestor: int) -> set[str]:
    """Return the processes of the native program that descend from a process."""
    parents, programs = {}, set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, rest = status.read_text().split("(", 1)[1].rsplit(")", 1)
            parents[status.parent.name] = rest.split()[1]
            if name == PROGRAM:
                programs.add(status.parent.name)

    def descends(process: str) -> bool:
        above = parents.get(process)
        return above is not None and (above == str(ancestor) or descends(above))

    return {process for process in programs if descends(process)}


if __name__ == "__main__":
    main()
