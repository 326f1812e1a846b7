"""Cores are counted by the kernel's lists of threads, within what a process may use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from hpcscope.machine import probe
from hpcscope.machine.machine import Processor

CPU = "sys/devices/system/cpu"
TREES = json.loads((Path(__file__).parent / "hwloc_trees.json").read_text())
"""Facts of the trees of /sys in hwloc's public tests: each processor's number, package, core and threads of the
same core (`x`: as a mask), and which processors and how many cores hwloc says a process may use."""


def described(
    root: Path,
    processors: Iterable[tuple[int, object, object, str]],
    allowed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Processor:
    """Write the topology of processors as the kernel shows it, and probe it under an affinity."""
    for number, package, core, siblings in processors:
        (folder := root / CPU / f"cpu{number}/topology").mkdir(parents=True)
        mask = siblings.startswith("x")
        facts = {"physical_package_id": package, "core_id": core}
        facts |= {"thread_siblings": siblings[1:]} if mask else {"thread_siblings_list": siblings}
        for name, value in facts.items():
            (folder / name).write_text(f"{value}\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(probe._members(allowed)))
    return Processor.model_validate(probe.processor(root))


@pytest.mark.parametrize("tree", TREES, ids=[tree["name"] for tree in TREES])
def test_the_cores_that_hwloc_counts(
    tree: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [words.split(":", 3) for words in tree["processors"].split()]
    found = described(tmp_path, [(int(number), *rest) for number, *rest in facts], tree["allowed"], monkeypatch)
    assert found.usable_cores == tree["cores"]
    assert found.threads == len(facts)


def smt(cores: int, dies: int = 1, package: int = 0) -> list[tuple[int, object, object, str]]:
    """Return cores of two threads, those of each die numbered from 0."""
    return [
        (n, package, n % cores % (cores // dies), f"{n % cores},{n % cores + cores}") for n in range(2 * cores)
    ]


@pytest.mark.parametrize(
    ("processors", "allowed", "cores", "usable"),
    [
        (smt(8), "0-15", 8, 8),
        (smt(8), "0-7", 8, 8),
        (smt(8), "0-3,8-11", 8, 4),
        (smt(8), "3", 8, 1),
        (smt(8, dies=4), "0-15", 8, 8),
        (
            [
                (n, 0, n // 2 if n < 12 else n - 6, f"{n // 2 * 2}-{n // 2 * 2 + 1}" if n < 12 else str(n))
                for n in range(20)
            ],
            "0-19",
            14,
            14,
        ),
        (
            [
                (n, 0, n // 2 if n < 12 else n - 6, f"{n // 2 * 2}-{n // 2 * 2 + 1}" if n < 12 else str(n))
                for n in range(20)
            ],
            "8-15",
            14,
            6,
        ),
        ([(n, -1, n % 4, str(n)) for n in range(8)], "0-7", 8, 8),
        ([(n, 0, n, f"{n},{n + 8}") for n in range(8)], "0-7", 8, 8),
        (smt(512), "0-1023", 512, 512),
        ([(n, 0, n // 2, f"x00000000,{3 << n // 2 * 2:08x}") for n in range(8)], "0-7", 4, 4),
    ],
    ids=[
        "SMT",
        "SMT, a thread a core",
        "SMT, control group",
        "one",
        "dies",
        "hybrid",
        "hybrid, a part",
        "big.LITTLE",
        "offline threads",
        "1024",
        "masks",
    ],
)
def test_cores_within_what_a_process_may_use(
    processors: list[tuple[int, object, object, str]],
    allowed: str,
    cores: int,
    usable: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = described(tmp_path, processors, allowed, monkeypatch)
    assert (found.cores, found.usable_cores) == (cores, usable)


def test_memory_is_in_the_nodes_that_have_some(tmp_path: Path) -> None:
    for node, kilobytes in enumerate((1000, 0, 500)):
        (folder := tmp_path / f"sys/devices/system/node/node{node}").mkdir(parents=True)
        (folder / "meminfo").write_text(f"Node {node} MemTotal:  {kilobytes} kB\n")
    assert probe.numa_nodes(tmp_path) == 2
