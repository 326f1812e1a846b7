"""Does storage.* agree with IOR, mdtest and IMB-IO? The same patterns on one file system, launch by launch.

Interleaved launches; the median of the ratios of neighboring ones, with their spread. The programs must have been
compiled with the same MPI. On a machine with other work, --best compares the best repetitions of each launch.
usage: python benchmarks/storage_agreement.py --storage FOLDER [--ior PATH] [--mdtest PATH] [--imb PATH]
       [--mpi NAME] [--best] [--ranks N] [--launches N] [--file-bytes N] [--transfer-bytes N] [--files N]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launches import Pair
from quartiles import quartiles

REPETITIONS = 6
"""Of each launch; the first is left out on both sides, since it also opens connections and touches memory."""
SAMPLING = (
    "sampling.budget_s=1000 sampling.minimum_span_s=0 sampling.precision=0"
    f" sampling.minimum_repetitions={REPETITIONS} sampling.maximum_repetitions={REPETITIONS}"
)
IOR = {
    "write": ("storage.write", "write", "-w -e"),
    "write, no flush": ("storage.write sync=none", "write", "-w"),
    "write, file per process": ("storage.write file=per_process", "write", "-w -e -F"),
    "write, strided": ("storage.write layout=strided", "write", "-w -e"),
    "read from the cache": ("storage.read cache=cached", "read", "-r"),
    "write, MPI-IO": ("storage.write interface=mpiio", "write", "-a MPIIO -w -e"),
    "write, MPI-IO collective": ("storage.write interface=mpiio access=collective", "write", "-a MPIIO -c -w -e"),
    "read, MPI-IO from the cache": ("storage.read interface=mpiio cache=cached", "read", "-a MPIIO -r"),
}
MDTEST = {
    "File creation": "create_per_s",
    "File stat": "stat_per_s",
    "File read": "open_per_s",
    "File removal": "remove_per_s",
}
IMB = {"C_Write_Expl": "storage.rewrite cache=cached", "C_Read_Expl": "storage.read cache=cached"}
MIB = 1 << 20
Figures = dict[str, list[float]]
"""The values of one launch under the names of their rows."""


def main() -> None:
    """Print one row per figure."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--storage", type=Path, required=True)
    for program in ("ior", "mdtest", "imb"):
        arguments.add_argument(f"--{program}", type=Path)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--launches", type=int, default=7)
    arguments.add_argument("--file-bytes", type=int, default=64 * MIB)
    arguments.add_argument("--transfer-bytes", type=int, default=MIB)
    arguments.add_argument("--files", type=int, default=1000)
    arguments.add_argument("--best", action="store_true")
    asked = arguments.parse_args()
    os.environ["SCOPE_STORAGE"] = str(asked.storage)
    agreement = Agreement(asked)
    print(f"{agreement.pair.mpi.name} {agreement.pair.mpi.version}, {asked.ranks} ranks, {asked.storage}")
    print(f"{'figure':<34}{'Scope':>12}{'other':>12}{'ratio':>8}   quartiles of {asked.launches} pairs")
    if asked.ior:
        agreement.with_ior()
    if asked.mdtest:
        agreement.with_mdtest()
    if asked.imb:
        agreement.with_imb()


class Agreement:
    """Pairs of launches: Scope's program and another one."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.pair = Pair(asked.mpi)

    def ours(self, line: str) -> dict[str, Any]:
        """Return the series of one case."""
        (case,) = self.pair.measured([f"{line} {SAMPLING}"], self.asked.ranks)
        if case["status"] != "ok":
            raise SystemExit(f"{line}: {case['status']}: {case['reason']}")
        return {**case["series"][0], "bytes": case["work"]["bytes"]}

    def _figure(self, values: list[float], lower: bool) -> float:
        if not self.asked.best:
            return statistics.median(values)
        return min(values) if lower else max(values)

    def compare(self, ours: Callable[[], Figures], other: Callable[[], Figures], lower: bool = False) -> None:
        """Measure both in turn, A B B A, and print a row for each figure; `lower`: these are times."""
        rows: dict[str, tuple[list[float], list[float]]] = {}
        for launch in range(self.asked.launches):
            for side in (0, 1) if launch % 2 else (1, 0):
                for name, values in (ours, other)[side]().items():
                    rows.setdefault(name, ([], []))[side].append(self._figure(values[1:], lower))
        for name, both in rows.items():
            low, middle, high = quartiles([one / two for one, two in zip(*both, strict=True)])
            medians = "".join(f"{statistics.median(side):>12.4g}" for side in both)
            print(f"{name:<34}{medians}{middle:>8.3f}   {low:.3f} to {high:.3f}", flush=True)

    def with_ior(self) -> None:
        """Compare bandwidths in MB/s."""
        # IOR has one buffer of a transfer for all of them.
        each = self.asked.transfer_bytes
        size = f"file_bytes={self.asked.file_bytes} transfer_bytes={each} buffer_bytes={each}"
        for name, (line, access, options) in IOR.items():
            block = self.asked.transfer_bytes if "strided" in line else self.asked.file_bytes
            segments = self.asked.file_bytes // block
            ours = f"{line} {size}" + (f" block_bytes={block}" if "strided" in line else "")
            words = f"{options} -b {block} -s {segments} -t {self.asked.transfer_bytes} -i {REPETITIONS}".split()
            self.compare(
                lambda name=name, ours=ours: {f"IOR: {name}": self._bandwidths(ours)},
                lambda name=name, words=words, access=access: {f"IOR: {name}": self._ior(words, access)},
            )

    def _bandwidths(self, line: str) -> list[float]:
        series = self.ours(line)
        return [series["bytes"] / max(times) / 1e6 for times in zip(*series["elapsed_s"], strict=True)]

    def _ior(self, words: list[str], access: str) -> list[float]:
        with tempfile.TemporaryDirectory(dir=self.asked.storage) as folder:
            summary = Path(self.pair.directory.name) / "ior.json"
            words = [
                *words,
                "-k",
                "-o",
                f"{folder}/file",
                "-O",
                "summaryFormat=JSON",
                "-O",
                f"summaryFile={summary}",
            ]
            if "-a" not in words:
                words += ["-a", "POSIX"]
            if access == "read":  # the same file in every repetition, as here
                writing = ["-w" if word == "-r" else word for word in words]
                self.pair.start(str(self.asked.ior), writing, self.asked.ranks)
            self.pair.start(str(self.asked.ior), words, self.asked.ranks)
        (test,) = json.loads(summary.read_text())["tests"]
        return [each["bwMiB"] * MIB / 1e6 for each in test["Results"] if each["access"] == access]

    def with_mdtest(self) -> None:
        """Compare rates per second. Mdtest prints no figure of a repetition: each is a launch."""
        for folder, option in (("shared", ""), ("own", "-u")):
            line = f"storage.metadata folder={folder} files={self.asked.files}"
            words = ["-F", "-n", str(self.asked.files), *option.split()]
            names = {name: f"mdtest: {name}, {folder} folder" for name in MDTEST}
            self.compare(
                lambda line=line, names=names: self._rates(line, names),
                lambda words=words, names=names: self._mdtest(words, names),
            )

    def _rates(self, line: str, names: dict[str, str]) -> Figures:
        observed = self.ours(line)["observed"]
        return {label: observed[MDTEST[name]][0] for name, label in names.items()}

    def _mdtest(self, words: list[str], names: dict[str, str]) -> Figures:
        rates: Figures = {label: [] for label in names.values()}
        for _ in range(REPETITIONS):
            with tempfile.TemporaryDirectory(dir=self.asked.storage) as folder:
                once = [*words, "-i", "1", "-d", folder]
                printed = self.pair.start(str(self.asked.mdtest), once, self.asked.ranks)
            for name, label in names.items():
                found = re.search(rf"{name}\s+(\S+)\s", printed)
                assert found is not None, printed
                rates[label].append(float(found[1]))
        return rates

    def with_imb(self) -> None:
        """Compare times of a collective access with its share of the flush at the end, in us."""
        each = self.asked.transfer_bytes
        for name, line in IMB.items():
            ours = (
                f"{line} interface=mpiio access=collective layout=strided transfer_bytes={each}"
                f" block_bytes={each} buffer_bytes={each} file_bytes={each * COLLECTIVES}"
            )
            self.compare(
                lambda name=name, ours=ours: {f"IMB-IO: {name}": self._collectives(ours)},
                lambda name=name: {f"IMB-IO: {name}": self._imb(name)},
                lower=True,
            )

    def _collectives(self, line: str) -> list[float]:
        observed = self.ours(line)["observed"]
        parts = [observed[name] for name in ("transfer_s", "sync_s") if name in observed]
        ranks, repetitions = len(parts[0]), len(parts[0][0])
        slowest = [
            max(sum(part[rank][repetition] for part in parts) for rank in range(ranks))
            for repetition in range(repetitions)
        ]
        return [time_s / COLLECTIVES * 1e6 for time_s in slowest]

    def _imb(self, name: str) -> list[float]:
        total = self.asked.transfer_bytes * self.asked.ranks
        lengths = Path(self.pair.directory.name) / "lengths"
        lengths.write_text(f"{total}\n")
        words = [
            "-npmin",
            str(self.asked.ranks),
            "-iter",
            str(COLLECTIVES),
            "-iter_policy",
            "off",
            "-msglen",
            str(lengths),
        ]
        times_us = []
        for _ in range(4):
            with tempfile.TemporaryDirectory(dir=self.asked.storage) as folder:
                printed = self.pair.start(str(self.asked.imb), [*words, name], self.asked.ranks, Path(folder))
            # The first table is that of the aggregate mode: one flush after all.
            found = re.search(rf"^\s*{total}\s+\d+\s+\S+\s+(\S+)\s", printed, re.MULTILINE)
            assert found is not None, printed
            times_us.append(float(found[1]))
        return times_us


COLLECTIVES = 20
"""Calls that follow one another between two flushes. IMB-IO reads beyond the end of its file of 40 MiB."""

if __name__ == "__main__":
    main()
