"""The memory that control groups leave, under both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.machine.memory import available_bytes


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


HOST = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 4000 kB\n"}
SECOND = {"proc/self/cgroup": "0::/job/step\n", "sys/fs/cgroup/job/memory.current": "1000000\n"}
FIRST = {
    "proc/self/cgroup": "4:cpu,memory:/job\n0::/\n",
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1000000",
}


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, float("inf")),
        (HOST, 4096000),
        (HOST | SECOND | {"sys/fs/cgroup/job/memory.max": "max\n"}, 4096000),
        (HOST | SECOND | {"sys/fs/cgroup/job/memory.max": "3000000\n"}, 2000000),
        (SECOND | {"sys/fs/cgroup/job/memory.max": "500000\n"}, 0),
        (
            SECOND
            | {
                "sys/fs/cgroup/job/memory.max": "3000000\n",
                "sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 400000\nactive_file 7\n",
            },
            2400000,
        ),
        (FIRST | {"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "3000000\n"}, 2000000),
        (HOST | FIRST | {"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"}, 4096000),
        (
            FIRST
            | {
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "3000000\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "1500000\n",
                "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 300000\n",
            },
            1500000,
        ),
    ],
)
def test_the_smallest_of_what_is_left_counts(files: dict[str, str], left: float, tmp_path: Path) -> None:
    write(tmp_path, files)
    assert available_bytes(tmp_path) == left
