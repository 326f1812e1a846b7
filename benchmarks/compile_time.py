"""How long does the compiler work before a first answer? CPU seconds of each object and of both programs.

    .venv/bin/python benchmarks/compile_time.py

CPU seconds differ little when others use the processors, and wall time does. "On two processors" is therefore
calculated: the objects in Ninja's order, each on the processor that is free first, after the precompiled header.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOG = "SCOPE_COMPILE_LOG"
HEADER = "cmake_pch.hxx.gch"


def launched(words: list[str]) -> int:
    """Start the compiler, as CMake's launcher, and note what it took."""
    process = subprocess.Popen(words)
    _, status, usage = os.wait4(process.pid, 0)
    output = words[words.index("-o") + 1] if "-o" in words else ""
    with Path(os.environ[LOG]).open("a") as log:
        log.write(f"{usage.ru_utime + usage.ru_stime:.2f} {output}\n")
    return os.waitstatus_to_exitcode(status)


def compiled(folder: Path, part: str) -> dict[str, float]:
    """Compile what a part lacks; return the CPU seconds of each object in the order of Ninja."""
    from hpcscope.build import cmake, installations, native

    project = native.project(installations.find(installations.EMBEDDED), native.source_directory(), part)
    launcher = folder / "launcher"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -S {Path(__file__).resolve()} "$@"\n')
    launcher.chmod(0o755)
    log = folder / f"log-{part}"
    os.environ[LOG] = str(log)
    configure = [
        *(cmake.tool("cmake"), "-S", str(project.sources), "-B", str(folder), "-G", "Ninja"),
        *(f"-DCMAKE_BUILD_TYPE={cmake.BUILD_TYPE}", f"-DCMAKE_CXX_COMPILER={';'.join(project.compiler)}"),
        *(f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}", *project.definitions),
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
    ]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    log.unlink(missing_ok=True)  # CMake's own trials
    make = [cmake.tool("cmake"), "--build", str(folder), "--parallel", "1", "--target", *project.targets]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    lines = [line.split() for line in log.read_text().splitlines()]
    return {words[1]: float(words[0]) for words in lines if len(words) > 1}


def on_two_processors(seconds: dict[str, float]) -> float:
    """Return when the last of two processors ends."""
    header = next((value for name, value in seconds.items() if name.endswith(HEADER)), 0.0)
    free = [header, header]
    for name, value in seconds.items():
        if not name.endswith(HEADER):
            free[free.index(min(free))] += value
    return max(free)


def main() -> None:
    """Print each object, then both sums."""
    from hpcscope.build import native

    sums = []
    with tempfile.TemporaryDirectory() as folder:
        for part, title in ((native.BASELINE, "the baseline's program"), (native.WHOLE, "the rest of the whole")):
            seconds = compiled(Path(folder), part)
            for name, value in seconds.items():
                print(f"{value:6.1f} {name}")
            sums.append(
                f"| {title} | {sum(seconds.values()):.0f} | {on_two_processors(seconds):.0f} |"
                f" {len(seconds)} | {max(seconds.values()):.0f} |"
            )
    print("\n| compiled | CPU s | on two processors, s | objects | longest, s |\n|---|---|---|---|---|")
    print("\n".join(sums))


if __name__ == "__main__":
    if LOG in os.environ:
        sys.exit(launched(sys.argv[1:]))
    main()
