"""Measures the time from a bare clone, or from an installed wheel, to the first value and to the report.

Each round clones the repository and runs `make run` there, with an empty cache of Scope; pip's own cache is kept.
With `--wheel FILE`, each round runs `scope run` of an environment that holds the wheel, with an empty cache of
Scope and no compiler on the PATH; with `--quick`, `scope run --quick`.
Prints the seconds of each round until each event, and their medians.
usage: python benchmarks/first_report.py [--rounds N] [--wheel FILE [--quick]]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
EVENTS = {"compiling": "compiling the", "launching": "launch 1 of", "first value": "so far:", "report": "Report "}
"""What a line of Scope's output says."""
LIMIT_S = 900
TOOLS = ("sh", "env", "true", "uname", "hostname", "readlink", "timeout", "ssh")
"""All that is on the PATH next to the environment of a wheel."""


def main() -> None:
    """Print a table: round, seconds until each event."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--wheel", type=Path)
    arguments.add_argument("--quick", action="store_true")
    asked = arguments.parse_args()
    columns = [event for event in EVENTS if not (asked.wheel and event == "compiling")]
    print("| round | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    rounds = []
    with tempfile.TemporaryDirectory(prefix="scope-first-") as temporary:
        bare = installed(asked.wheel.resolve(), Path(temporary)) if asked.wheel else None
        for number in range(1, asked.rounds + 1):
            with tempfile.TemporaryDirectory(prefix="scope-first-") as folder:
                rounds.append(from_wheel(Path(folder), bare, asked.quick) if bare else from_clone(Path(folder)))
            print(row(str(number), rounds[-1]), flush=True)
    print(row("median", {event: median(each[event] for each in rounds) for event in columns}))


def installed(wheel: Path, folder: Path) -> str:
    """Install a wheel into an environment of its own; return a PATH with it and without a compiler."""
    environment, tools = folder / "environment", folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "--disable-pip-version-check", "--quiet", "install", str(wheel)]
    subprocess.run(pip, check=True)
    tools.mkdir()
    for name in TOOLS:
        if path := shutil.which(name):
            (tools / name).symlink_to(path)
    return f"{environment / 'bin'}:{tools}"


def from_wheel(folder: Path, path: str, quick: bool) -> dict[str, float]:
    """Return the seconds of `scope run` with this PATH."""
    command = ["timeout", str(LIMIT_S), "scope", "run", *(["--quick"] if quick else [])]
    return events(command, folder, os.environ | {"PATH": path, "SCOPE_CACHE": str(folder / "cache")})


def row(name: str, found: dict[str, float]) -> str:
    """Return a row of the table."""
    return f"| {name} | " + " | ".join(f"{seconds:.1f} s" for seconds in found.values()) + " |"


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
    if running.wait() != 0 or not found.keys() >= EVENTS.keys() - {"compiling"}:
        raise SystemExit(f"{' '.join(command)} in {folder}: ended with {running.returncode}")
    return found


if __name__ == "__main__":
    main()
