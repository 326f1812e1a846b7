"""Measures the time from a bare clone to the first value and to the report.

Each round clones the repository and runs `make run` there, with an empty cache of Scope; pip's own cache is kept.
Prints the seconds of each round until each event, and their medians.
usage: python benchmarks/first_report.py [--rounds N]
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
    """Print a table: round, seconds until each event."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    print("| round | " + " | ".join(EVENTS) + " |\n|---|" + "---|" * len(EVENTS))
    rounds = []
    for number in range(1, arguments.parse_args().rounds + 1):
        with tempfile.TemporaryDirectory(prefix="scope-first-") as folder:
            rounds.append(from_clone(Path(folder)))
        print(row(str(number), rounds[-1]), flush=True)
    print(row("median", {event: median(each[event] for each in rounds) for event in EVENTS}))


def row(name: str, found: dict[str, float]) -> str:
    """Return a row of the table."""
    return f"| {name} | " + " | ".join(f"{found[event]:.0f} s" for event in EVENTS) + " |"


def from_clone(folder: Path) -> dict[str, float]:
    """Return the seconds of `make run` in a new clone."""
    clone = folder / "scope"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    command = ["timeout", str(LIMIT_S), "make", "run"]
    return events(command, clone, os.environ | {"SCOPE_CACHE": str(folder / "cache")})


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
    if running.wait() != 0 or found.keys() != EVENTS.keys():
        raise SystemExit(f"{' '.join(command)} in {folder}: ended with {running.returncode}")
    return found


if __name__ == "__main__":
    main()
