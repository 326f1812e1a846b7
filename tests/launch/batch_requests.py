"""What batch systems are asked for in tests: once everything, and many combinations."""

from __future__ import annotations

import itertools
from pathlib import Path

from hpcscope.launch.scheduler import Request

FULL = Request(
    name="scope-x",
    folder=Path("/home of/me"),
    output=Path("/runs/x/job/output.txt"),
    nodes=2,
    ranks_per_node=4,
    exclusive=True,
    partition="short",
    account="physics",
    parallel_environment="mpi",
    time_limit_s=5401,
    nice=50,
    arguments=("--extra=1",),
)
REQUESTS = [
    Request(
        name="scope-" + "x" * 94,
        folder=Path("/"),
        output=Path(output),
        nodes=3 if not hosts else len(hosts),
        nodelist=hosts,
        ranks_per_node=ranks,
        exclusive=exclusive,
        partition=partition,
        account=partition,
        time_limit_s=limit_s,
    )
    for output, hosts, ranks, exclusive, partition, limit_s in itertools.product(
        ["/runs/a/output.txt", '/it\'s a "run" of mine\\here/a:b/output.txt'],
        [(), ("a",), ("a1", "b-2.site")],
        [None, 1, 64],
        [True, False],
        [None, "short@head.site"],
        [None, 60.0, 30 * 86400.0],
    )
]
