"""How long do people wait? `scope --help` against the bare interpreter; analysis and report of 100,000 samples.

usage: python benchmarks/command_cost.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

SCOPE = str(Path(sysconfig.get_path("scripts")) / "scope")
REPOSITORY = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print both costs."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=21)
    asked = arguments.parse_args()
    helps, bare = [], []
    for _ in range(asked.rounds):
        helps.append(elapsed([SCOPE, "--help"]))
        bare.append(elapsed([sys.executable, "-c", "pass"]))
    ratio = statistics.median(helps) / statistics.median(bare)
    print(
        f"scope --help {statistics.median(helps) * 1e3:.1f} ms, interpreter {statistics.median(bare) * 1e3:.1f} ms"
    )
    print(f"ratio {ratio:.2f}")

    sys.path.insert(0, str(REPOSITORY))
    from tests import golden_run

    with tempfile.TemporaryDirectory() as folder:
        run = golden_run.write(Path(folder) / "run")
        samples = enlarge(run / "samples.jsonl", 100_000)
        analyze = [elapsed([SCOPE, "analyze", str(run)]) for _ in range(3)]
        report = [elapsed([SCOPE, "report", str(run)]) for _ in range(3)]
        total = statistics.median(analyze) + statistics.median(report)
        parts = f"analyze {statistics.median(analyze):.2f} s, report {statistics.median(report):.2f} s"
        print(f"{samples} samples: {parts}, together {total:.2f} s")


def elapsed(command: list[str]) -> float:
    """Wall-clock seconds of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def enlarge(path: Path, wanted: int) -> int:
    """Repeat the times of every series until the file holds so many; return how many it holds."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    series = [each for record in records if record["record"] == "case" for each in record.get("series", [])]
    held = sum(len(times) for each in series for times in each["elapsed_s"])
    factor = max(1, -(-wanted // held))
    for each in series:
        for key in ("elapsed_s", "entry_s"):
            if each.get(key):
                each[key] = [times * factor for times in each[key]]
        if each.get("valid"):
            each["valid"] = each["valid"] * factor
        each["observed"] = {
            name: [times * factor for times in rows] for name, rows in each.get("observed", {}).items()
        }
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return held * factor


if __name__ == "__main__":
    main()
