"""Measures the time from nothing to the first value and to the report: from a bare clone, and from a wheel.

Each round clones the repository and runs `make run` there, then installs the wheel into a new environment and runs
`scope run` without a compiler on the PATH. Both have empty caches of Scope; pip's own cache is kept. Prints the
seconds of each round until each event, and their medians.
usage: python benchmarks/first_report.py [--rounds N] [--wheel FILE] [--mpi FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
EVENTS = {"compiling": "compil", "launching": "launch 1 of", "first value": "so far:", "report": "Report "}
"""What a line of Scope's output says."""
LIMIT_S = 900


def main() -> None:
    """Print a table: way, round, seconds until each event."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--wheel", type=Path, help="of `make wheel`; without one only the clone is measured")
    arguments.add_argument("--mpi", type=Path, default=ROOT / ".venv", help="prefix of the MPI of the wheel's run")
    asked = arguments.parse_args()
    ways = {"clone": from_clone} | ({"wheel": from_wheel} if asked.wheel else {})
    seconds: dict[tuple[str, str], list[float]] = {}
    print("| way | round | " + " | ".join(EVENTS) + " |\n|---|---|" + "---|" * len(EVENTS))
    for number in range(1, asked.rounds + 1):
        for way, take in ways.items():
            with tempfile.TemporaryDirectory(prefix="scope-first-") as folder:
                found = take(Path(folder), asked)
            for event in found:
                seconds.setdefault((way, event), []).append(found[event])
            print(row(way, str(number), found), flush=True)
    for way in ways:
        print(row(way, "median", {each: median(seconds[way, each]) for each in EVENTS if (way, each) in seconds}))


def row(way: str, number: str, found: dict[str, float]) -> str:
    """Return a row of the table."""
    return f"| {way} | {number} | " + " | ".join(f"{found[e]:.0f} s" if e in found else "" for e in EVENTS) + " |"


def from_clone(folder: Path, _: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of `make run` in a new clone."""
    clone = folder / "scope"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return events(["make", "run"], clone, os.environ | {"SCOPE_CACHE": str(folder / "cache")})


def from_wheel(folder: Path, asked: argparse.Namespace) -> dict[str, float]:
    """Return the seconds of `scope run` from a wheel, on a PATH with an MPI and no compiler."""
    environment, tools = folder / "environment", folder / "tools"
    subprocess.run(["python3", "-m", "venv", str(environment)], check=True)
    subprocess.run([str(environment / "bin/pip"), "install", "--quiet", str(asked.wheel)], check=True)
    tools.mkdir()
    for name in ("mpiexec", "prterun", "prte", "prted", "orted"):
        if (program := asked.mpi.absolute() / "bin" / name).exists():
            (tools / name).symlink_to(program)
    path = f"{environment}/bin:{tools}"
    return events(
        [str(environment / "bin/scope"), "run"],
        folder,
        {**os.environ, "PATH": path, "SCOPE_CACHE": str(folder / "cache")},
    )


def events(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Return when the command's output first said each event; it must succeed."""
    found: dict[str, float] = {}
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            for event, words in EVENTS.items():
                if words in line and event not in found:
                    found[event] = time.perf_counter() - start
    if running.wait(LIMIT_S) != 0 or "report" not in found:
        raise SystemExit(f"{' '.join(command)} in {folder}: ended with {running.returncode}")
    return found


if __name__ == "__main__":
    main()
