"""How long does `scope repository list` take over 100,000 runs of 300 cases? The limit is 1 s.

The index is generated: kept files would take 500 GB. Each question is asked by a process of its own, as a person
asks; the time includes starting the interpreter.
usage: python benchmarks/repository.py [--runs N] [--cases N] [--repetitions N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hpcscope.archive import index as indexing
from hpcscope.archive.entry import Entry, KeptFigure, Notes
from hpcscope.archive.folder import Folder

QUESTIONS = {
    "the newest 50": [],
    "of one cluster": ["--cluster", "cluster7"],
    "with a tag": ["--tag", "nightly"],
    "with a rare tag": ["--tag", "rare"],
    "by a name": ["--name", "run-99*"],
    "that measured a benchmark": ["--benchmark", "level3.*"],
    "that measured what nobody did": ["--benchmark", "nothing"],
    "of last spring": ["--since", "2025-03-01", "--until", "2025-06-01"],
}
LIMIT_S = 1.0
LEVELS = 7


def main() -> None:
    """Generate the index and ask."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--cases", type=int, default=300)
    arguments.add_argument("--repetitions", type=int, default=5)
    arguments.add_argument("--folder", type=Path)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as temporary:
        folder = Folder(Path(temporary) / "repository")
        folder.make()
        begin = time.perf_counter()
        with indexing.made(folder.index) as index:
            index.put_all(generated(asked.runs, asked.cases))
        size = folder.index.stat().st_size
        print(
            f"{asked.runs} runs of {asked.cases} cases: {size / 1e9:.2f} GB, {time.perf_counter() - begin:.0f} s"
        )
        slowest = max(
            answered(folder.path, words, asked.repetitions, question) for question, words in QUESTIONS.items()
        )
    raise SystemExit(slowest > LIMIT_S)


def answered(folder: Path, words: list[str], repetitions: int, question: str) -> float:
    """Ask a question several times, print the times, and return the median in seconds."""
    times = []
    command = [sys.executable, "-m", "hpcscope", "repository", "list", "--in", str(folder), *words]
    for _ in range(repetitions):
        begin = time.perf_counter()
        ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        times.append(time.perf_counter() - begin)
    rows = ended.stdout.count("\n") - 1
    print(f"{question:<32}{statistics.median(times):8.3f} s  ({min(times):.3f} to {max(times):.3f}), {rows} rows")
    return statistics.median(times)


def generated(runs: int, cases: int) -> Iterator[tuple[Entry, list[KeptFigure]]]:
    """Yield runs of twenty clusters over three years."""
    chance = random.Random(1)
    described = [
        {
            "benchmark": f"level{number % LEVELS}.benchmark{number // LEVELS % 12}",
            "metric": "time_s",
            "label": f"case {number}",
            "key": f"case {number}",
            "ranks": 2 ** (number % 6),
            "unit": "s",
            "better": "lower",
            "origin": "measured",
            "launches": 6,
        }
        for number in range(cases)
    ]
    for run in range(runs):
        cluster = f"cluster{run % 20}"
        started = 1_700_000_000 + run * 1000.0
        yield (
            Entry(
                id=f"{chance.getrandbits(64):016x}",
                name=f"run-{run}",
                module="baseline",
                command="scope run",
                status="finished",
                started_unix_s=started,
                finished_unix_s=started + 150,
                scope_version="1.0",
                fingerprint=f"{run % 20:016x}",
                hosts=[f"node{host}" for host in range(16)],
                processor="a processor",
                kernel="6.1.0",
                mpi="openmpi 5.0.11",
                size_bytes=4_900_000,
                notes=Notes(
                    sha256="0" * 64,
                    added_unix_s=started + 160,
                    added_by="root",
                    cluster=cluster,
                    tags=["nightly"] * (run % 2) + ["rare"] * (run % 10_000 == 0),
                ),
            ),
            [KeptFigure.model_construct(**one, median=chance.random(), low=None, high=None) for one in described],
        )


if __name__ == "__main__":
    main()
